import { append } from '../../../util/append.js';
import type { StoredObject } from '../../interfaces.js';
import type { LogFollower } from '../following/follower.js';
import type { CurrentStates } from '../reading/reader.js';
import type { PendingWrite } from './batch.js';
import { headId, type KnownState, type KnownStates } from '../following/known-states.js';

export interface StatesOptions {
  readonly known: KnownStates;
  readonly follower: Pick<LogFollower, 'catchUp'>;
  readonly current: Pick<CurrentStates, 'read'>;
}

type Read = ReadonlyMap<string, StoredObject | undefined>;

/**
 * Reads from MongoDB if the current state for a write is unknown, or if it conflicts with a write that may match newer changes of other
 * replicas. Returns undefined if nothing must be read.
 */
export function readMissingStates(
  pending: readonly PendingWrite[],
  { known, follower, current }: StatesOptions,
): Promise<Read> | undefined {
  const unknown = new Map<string, string[]>();
  let isUnsure = false;
  for (const { request } of pending) {
    const { resource, key, expected } = request;
    const state = known.before(request);
    if (state === undefined) {
      append(unknown, resource, key);
      continue;
    }
    const revision = state.object?.revision ?? 0;
    // An older expected revision cannot come back, so the conflict is certain.
    if (revision !== expected && (expected === 0 || expected > revision)) isUnsure = true;
  }
  if (unknown.size === 0) return isUnsure ? follower.catchUp().then(() => new Map()) : undefined;
  return known.learn(async () => {
    const all = new Map<string, StoredObject | undefined>();
    for (const [resource, wanted] of unknown) {
      const keys = [...new Set(wanted)];
      const states = await current.read(resource, keys);
      for (const key of keys) all.set(headId(resource, key), states.get(key));
    }
    return all;
  });
}

/**
 * Returns the states at the newest known revision of the log. Must be called in the step in which they are used: states that were read are
 * valid only until the log delivers a change.
 */
export function statesBefore(
  pending: readonly PendingWrite[],
  known: KnownStates,
  read: Read | undefined,
): ReadonlyMap<string, KnownState> {
  const states = new Map<string, KnownState>();
  for (const { request } of pending) {
    const id = headId(request.resource, request.key);
    const state = known.before(request) ?? (read?.has(id) === true ? { object: read.get(id) } : undefined);
    if (state !== undefined) states.set(id, state);
  }
  return states;
}
