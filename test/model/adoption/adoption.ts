import type { Party, Steps } from '../parties.js';
import type { AdoptionGuards } from './guards.js';
import { discover, handOver, leave } from './return.js';
import { Side } from './side.js';
import { KEYS, MARGIN, type Replica, type Status, World } from './world.js';

export interface ExploredAdoption extends Readonly<World['counts']> {
  readonly violations: readonly string[];
}

/** Runs one schedule: the steps of the parties, in an order that the seed decides. */
export function exploreAdoption(seed: number, guards: AdoptionGuards, steps = 2_500): ExploredAdoption {
  const world = new World(seed, guards, leaderOf);
  world.run(steps);
  return { violations: world.violations, ...world.counts };
}

/** A replica that believes that it is the leader. There may be two. */
export function* leaderOf(world: World): Party {
  // The back door that this leader opened.
  const own = { door: 0 };
  for (;;) {
    yield;
    const seen = world.status;
    const { phase, back } = seen;
    if (phase === 'InSync' && world.wanted === 'Annex') world.advance(seen, { phase: 'Preparing' });
    else if (phase === 'Preparing') yield* prepare(world, seen);
    else if (phase === 'Fencing') yield* fencing(world, seen);
    else if (phase === 'Switching') yield* switching(world, seen);
    else if (phase === 'Served' && world.wanted === 'Cluster')
      world.advance(seen, { phase: 'Returning', back: 'Copying' });
    else if (phase === 'Served') hold(world, seen);
    else if (phase === 'Returning' && back === '') yield* giveUp(world, seen);
    else if (phase === 'Returning' && back === 'Routing') yield* leave(world, seen);
    else if (phase === 'Returning') yield* handOver(world, seen, own);
    else if (phase === 'Failed' && world.wanted === 'Cluster') world.advance(seen, { phase: 'InSync' });
  }
}

/** Makes the copy the base, and carries over changes in the cluster. */
function* prepare(world: World, seen: Status): Steps<void> {
  const copy = new Map(world.etcd.objects);
  yield;
  if (!world.isCurrent(seen)) return;
  if (world.annex === undefined) {
    const annex = new Side(Math.max(world.annexRevision, world.etcd.revision + MARGIN));
    for (const [key, value] of copy) annex.objects.set(key, value);
    world.annex = annex;
    world.first = annex.revision;
    world.closedAt = undefined;
    world.wasRouted = false;
    world.bring('Copying');
  }
  yield;
  carryOver(world);
  // Not what a replica knows of an earlier adoption.
  const follows = ({ stage, silent }: Replica): boolean => silent || stage === 'Copying' || stage === 'Switching';
  if (!(yield* world.until(() => world.replicas.every(follows)))) return;
  if (world.wanted === 'Annex' && world.isBelow()) world.advance(seen, { phase: 'Fencing' });
  else world.advance(seen, { phase: 'Returning', back: '' });
}

function* fencing(world: World, seen: Status): Steps<void> {
  const { guards, servers } = world;
  if (guards.fence) {
    world.set({ fence: true });
    const identity = world.fenceIdentity;
    if (!(yield* world.until(() => world.everywhere({ fence: true })))) return yield* fail(world, seen);
    if (guards.drain && !(yield* world.until(() => servers.every(({ underWay }) => underWay === 0))))
      return yield* fail(world, seen);
    yield;
    if (!world.isCurrent(seen)) return;
    if (guards.carryOver) carryOver(world);
    if (guards.identity && identity !== world.fenceIdentity) return yield* fail(world, seen);
    if (!world.isBelow()) return yield* fail(world, seen);
  } else if (guards.carryOver) carryOver(world);
  fences.set(world, world.fenceIdentity);
  world.advance(seen, { phase: 'Switching' });
}

/** The identity of the fence that held everywhere when the copy was complete. */
const fences = new WeakMap<World, number>();

function* switching(world: World, seen: Status): Steps<void> {
  const { guards, servers } = world;
  const isIntact = (): boolean => !guards.identity || fences.get(world) === world.fenceIdentity;
  if (!isIntact()) return yield* fail(world, seen);
  yield;
  if (!world.isCurrent(seen)) return;
  world.bring('Switching');
  world.wasRouted = true;
  world.set({ annex: true });
  const routed = (): boolean =>
    guards.everyRoute ? servers.every(({ known }) => known.annex) : servers.some(({ known }) => known.annex);
  if (!(yield* world.until(routed)) || !world.isBelow()) return yield* fail(world, seen);
  if (!world.isCurrent(seen)) return;
  if (guards.unserved) world.set({ served: false });
  yield;
  if (!isIntact()) return yield* fail(world, seen);
  if (!world.advance(seen, { phase: 'Served' })) return;
  world.counts.switched++;
  world.bring('Served');
}

/** Carries changes over as ordinary writes, while nothing else writes in Annex. */
function carryOver(world: World): void {
  const { annex, etcd, definition } = world;
  // A leader that resumes when Annex owns the group, or returns it, has nothing to copy.
  if (annex === undefined || (definition !== 'Copying' && definition !== 'Switching')) return;
  for (const key of KEYS) {
    const [theirs, ours] = [etcd.objects.get(key), annex.objects.get(key)];
    if (theirs?.op !== ours?.op) annex.write(key, theirs);
  }
  world.annexRevision = annex.revision;
}

function* fail(world: World, seen: Status): Steps<void> {
  yield;
  world.advance(seen, { phase: 'Returning', back: '' });
}

function* giveUp(world: World, seen: Status): Steps<void> {
  const { guards, replicas } = world;
  world.counts.gaveUp++;
  // The fence may have been removed: nothing may write while clients read the copy.
  world.set({ fence: guards.fence });
  yield* world.until(() => world.everywhere({ fence: guards.fence }));
  if (!world.isCurrent(seen)) return;
  // Once the routes go, the revision has been raised already.
  if (world.wasRouted && world.definition !== 'Left') {
    world.bring('Returning');
    if (!(yield* world.until(() => replicas.every(({ stage, silent }) => silent || stage === 'Returning')))) return;
    if (!world.isCurrent(seen)) return;
    if (guards.raiseAll) world.raiseAbove(Math.max(world.annex?.revision ?? 0, world.last));
    yield;
  }
  if (!world.isCurrent(seen)) return;
  // The definition changes, so all watch caches start from scratch.
  world.set({ served: true, annex: false, ...(guards.restart && { door: seen.door + 0.25 }) });
  world.bring('Left');
  if (!(yield* world.until(() => world.everywhere({ annex: false, served: true })))) return;
  if (!world.isCurrent(seen)) return;
  world.discard();
  yield;
  if (!world.isCurrent(seen)) return;
  world.set({ fence: false });
  if (!(yield* discover(world, seen))) return;
  world.set({ door: 0 });
  world.advance(seen, { phase: 'Failed' });
}

/** Maintains the barriers while Annex owns the group. */
function hold(world: World, seen: Status): void {
  if (!world.isCurrent(seen) || world.isMeddled) return;
  world.set({ fence: world.guards.fence, annex: true, served: !world.guards.unserved });
  world.bring('Served');
}
