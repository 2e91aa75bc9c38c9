import type { Revision, StoredObject } from '../../interfaces.js';
import { copyOf } from '../../object-bytes.js';
import type { PendingWrite } from './batch.js';
import { readStates, type LogPlace } from '../documents.js';
import type { LogFollower } from '../follower.js';
import { headId, type Heads } from '../heads.js';

export interface KnownStates {
  readonly place: LogPlace;
  readonly heads: Heads;
  readonly follower: LogFollower;
}

/** The states that writes find, as far as they are known; those not known well enough to refuse a write are read. */
export async function statesBefore(
  pending: readonly PendingWrite[],
  { heads, follower, place }: KnownStates,
): Promise<Map<string, StoredObject | undefined>> {
  const states = new Map<string, StoredObject | undefined>();
  const wanted = new Map<string, Set<string>>();
  for (const write of pending) {
    const { resource, key, expected } = write.request;
    const id = headId(resource, key);
    const head = heads.get(id) ?? told(write);
    if (!write.verify && !isUnsure(head, expected)) {
      // The heads may forget it while others are read.
      if (head !== undefined) states.set(id, head.object);
      continue;
    }
    write.verify = false;
    const keys = wanted.get(resource);
    if (keys === undefined) wanted.set(resource, new Set([key]));
    else keys.add(key);
  }
  let newest = 0;
  for (const [resource, keys] of wanted) {
    const found = await readStates(place, resource, [...keys]);
    for (const key of keys) {
      const object = found.get(key);
      const id = headId(resource, key);
      heads.learn(id, object);
      states.set(id, object);
      newest = Math.max(newest, object?.revision ?? 0);
    }
  }
  if (newest > follower.revision) await follower.catchUp();
  return states;
}

/** What the caller knows of the object, which is believed until MongoDB says otherwise. */
function told({ request, verify }: PendingWrite): { readonly object: StoredObject } | undefined {
  const { expected, previous } = request;
  if (verify || previous?.revision !== expected) return undefined;
  const { key, revision, bytes, flags } = previous;
  return { object: { key, revision, bytes: copyOf(bytes), flags } };
}

/** Whether what is known may be outdated in a way that matters: the write seems not to fit, but another replica may have made it fit. */
function isUnsure(head: { readonly object: StoredObject | undefined } | undefined, expected: Revision): boolean {
  if (head === undefined) return expected !== 0;
  const revision = head.object?.revision ?? 0;
  if (revision === expected) return false;
  return expected === 0 || expected > revision;
}
