import type { Steps } from '../parties.js';
import type { Value } from './side.js';
import { KEYS, PIN_ROOM, type Replica, type Status, type World } from './world.js';

/** Maps uids in Annex to those in the cluster, for the objects that this leader created. */
type Uids = Map<string, string>;

/** How far above Annex's revision kube-apiservers load the type. */
const ROOM = 10;

let made = 0;

/** The back door once the versions are served again: when a definition changes, all of its watch caches start from scratch. */
const restored = (door: number): number => door + 0.5;

/** Makes the cluster's copy equal to Annex, and stops all writes. */
export function* handOver(world: World, seen_: Status, own: { door: number }): Steps<void> {
  const { guards } = world;
  let seen = seen_;
  const next = (change: Partial<Status>): boolean => {
    if (!world.advance(seen, change)) return false;
    seen = world.status;
    return true;
  };
  const door = guards.ownDoor ? own.door || seen.door + 1 : 1;
  if (!next({ back: 'Copying', door })) return;
  own.door = door;
  world.bring('Served');
  world.set({ door, fence: guards.fence, served: !guards.unserved, annex: true });
  if (!(yield* world.until(() => world.everywhere({ door })))) return;
  const uids: Uids = new Map();
  for (const key of KEYS) yield* bring(world, key, door, uids);
  yield;
  if (!world.isCurrent(seen)) return;
  // kube-apiservers load the type while Annex takes writes, at a revision that Annex rarely passes before the gate closes.
  if (world.annex !== undefined) world.raiseAbove(world.annex.revision + ROOM + PIN_ROOM);
  const loaded = world.etcd.revision;
  world.set({ served: true, door: restored(door) });
  if (!(yield* world.until(() => world.everywhere({ served: true, door: restored(door) })))) return;
  for (const key of KEYS) yield* bring(world, key, door, uids);
  yield;
  if (world.wanted !== 'Cluster') return yield* stay(world, seen);
  if (!next({ back: 'Closing' })) return;
  for (const stage of ['Closing', 'Returning'] as const) {
    world.bring(stage);
    const isThere = (replica: Replica): boolean =>
      replica.silent || (replica.stage === stage && (replica.underWay === 0 || !guards.gateDrain));
    if (!(yield* world.until(() => world.replicas.every(isThere)))) return yield* stay(world, seen);
    if (!world.isCurrent(seen)) return;
  }
  if (guards.lastCarry) {
    for (let i = 0; i < 3 && !isEqual(world, uids); i++) for (const key of KEYS) yield* bring(world, key, door, uids);
    if (!isEqual(world, uids)) return yield* stay(world, seen);
  }
  // Small writes, at most 2,000 per second: a replica that lost the lease notices long before they pass the margin of the next switch.
  if (guards.raiseAll && world.annex !== undefined && world.isCurrent(seen)) {
    if (guards.reload && Math.max(world.annex.revision, world.last) >= loaded) {
      world.counts.reloaded++;
      world.set({ served: false, door });
      if (!(yield* world.until(() => world.everywhere({ served: false, door })))) return yield* stay(world, seen);
      if (!world.isCurrent(seen)) return;
    }
    world.raiseAbove(Math.max(world.annex.revision, world.last));
  }
  yield;
  next({ back: 'Routing' });
}

/** Brings one object in the cluster to its state in Annex. */
function* bring(world: World, key: string, door: number, uids: Uids): Steps<void> {
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

function isEqual({ annex, etcd }: World, uids: Uids): boolean {
  return KEYS.every((key) => {
    const [ours, theirs] = [annex?.objects.get(key), etcd.objects.get(key)];
    return ours?.op === theirs?.op && (ours === undefined || ours.uid === theirs?.uid || uids.has(ours.uid));
  });
}

/** Lets Annex continue to serve the group. */
function* stay(world: World, seen: Status): Steps<void> {
  yield;
  if (!world.isCurrent(seen)) return;
  world.counts.stayed++;
  world.bring('Served');
  world.set({ door: 0, served: !world.guards.unserved });
  world.advance(seen, { phase: 'Served', back: '' });
}

/** Moves reads first, then writes. */
export function* leave(world: World, seen: Status): Steps<void> {
  const { guards, servers } = world;
  const door = restored(seen.door);
  world.set({ served: true, door });
  if (guards.servedFirst && !(yield* world.until(() => world.everywhere({ served: true, door })))) return;
  world.bring('Left');
  world.set({ annex: false });
  const routed = (): boolean =>
    guards.everyRoute ? world.everywhere({ annex: false }) : servers.some(({ known }) => !known.annex);
  if (!(yield* world.until(routed))) return;
  if (!world.isCurrent(seen)) return;
  world.set({ fence: false });
  yield;
  if (!world.isCurrent(seen)) return;
  if (!(yield* discover(world, seen))) return;
  world.set({ door: 0 });
  world.discard();
  if (!world.advance(seen, { phase: 'InSync', back: '' })) return;
  world.counts.returned++;
  world.mustBeAlive();
}

/** Deletes the APIServices of the cluster again while a kube-apiserver asks Annex for discovery. */
export function* discover(world: World, seen: Status): Steps<boolean> {
  while (!world.isDiscovered()) {
    if (!world.isCurrent(seen)) return false;
    const { service } = world.settings;
    if (yield* world.until(() => world.isDiscovered())) break;
    if (!world.isCurrent(seen)) return false;
    world.counts.askedAgain++;
    world.set({ service: service + 1 });
  }
  return world.isCurrent(seen);
}
