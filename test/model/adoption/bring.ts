import type { Steps } from '../parties.js';
import type { Value } from './side.js';
import { KEYS, type World } from './world.js';

/** Maps uids in Annex to those in the cluster. */
export type Uids = Map<string, string>;

let made = 0;

/** Brings one object in the cluster to its state in Annex. */
export function* bring(world: World, key: string, door: number, uids: Uids): Steps<void> {
  const { guards, etcd } = world;
  const stored = world.annex?.objects.get(key);
  let found = etcd.objects.get(key);
  yield;
  const write = (next: Omit<Value, 'revision'> | undefined): boolean => {
    const isOpen = Math.floor(world.random.pick(world.servers).known.door) === door;
    if (!isOpen || etcd.objects.get(key) !== found) return false;
    if (guards.raiseEach && stored !== undefined) world.raiseAbove(stored.revision);
    etcd.write(key, next);
    found = etcd.objects.get(key);
    return true;
  };
  if (stored === undefined) {
    if (found !== undefined) write(undefined);
    return;
  }
  const isCounterpart = (one: Value): boolean => one.uid === stored.uid || uids.get(stored.uid) === one.uid;
  if (found !== undefined && !isCounterpart(found) && guards.uids && !write(undefined)) return;
  yield;
  if (found === undefined) {
    const uid = `c${++made}`;
    if (write({ op: stored.op, uid })) uids.set(stored.uid, uid);
  } else if (found.op !== stored.op || (found.revision < stored.revision && guards.raiseEach)) {
    write({ op: stored.op, uid: found.uid });
  }
}

export function isEqual({ annex, etcd }: World, uids: Uids): boolean {
  return KEYS.every((key) => {
    const [ours, theirs] = [annex?.objects.get(key), etcd.objects.get(key)];
    return ours?.op === theirs?.op && (ours === undefined || ours.uid === theirs?.uid || uids.has(ours.uid));
  });
}
