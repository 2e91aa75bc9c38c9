import type { Action, Command, Failure } from '../../../src/adoption/protocol/transitions.js';
import type { Steps } from '../parties.js';
import { bring, isEqual, type Uids } from './bring.js';
import { Side } from './side.js';
import { KEYS, MARGIN, PIN_ROOM, type Replica, type Status, type World } from './world.js';

/** How a step ends. Lost: another leader continues. */
export type Outcome = 'done' | 'lost' | Failure;

/** How far above Annex's revision kube-apiservers load the type. */
const ROOM = 10;

/** The back door after a change of the definition, which restarts all watch caches of the type. */
const restarted = (door: number): number => door + 0.25;
const loaded = (door: number): number => door + 0.5;
const restored = (door: number): number => door + 0.75;

/** The steps of a leader, in the world of the model. */
export class Leader {
  /** As it has last read or written it. */
  status: Status;
  private identity = 0;
  /** The back door that this leader opened. */
  private door = 0;
  /** Maps uids in Annex to those in the cluster, for the objects that this leader created. */
  private uids: Uids = new Map();
  private lastShown = 0;
  private loadedAbove = 0;

  constructor(private readonly world: World) {
    this.status = world.status;
  }

  read(): void {
    this.status = this.world.status;
  }

  record({ state, isRetried = false }: Extract<Command, { readonly kind: 'record' }>): Outcome {
    const { world } = this;
    switch (state) {
      case 'Switching':
        return this.write({ state, fence: this.identity });
      case 'Returning':
        return this.takeDoor();
      case 'Copying':
        return this.rehearse();
      case 'Served':
        if (this.status.state === 'Switching') world.counts.switched++;
        else world.counts.stayed++;
        return this.write({ state });
      case 'GivingUp':
        world.counts.gaveUp++;
        return this.write({ state, isRetried });
      case 'Failed':
        return this.write({ state, fence: undefined, isRetried: false });
      default:
        return this.write({ state });
    }
  }

  *step(action: Action): Steps<Outcome> {
    const found = this.steps[action];
    if (found === undefined) return 'done';
    yield;
    if (!this.world.isCurrent(this.status)) return 'lost';
    return yield* found();
  }

  /** What has no effect in the model is left out. */
  private readonly steps: Readonly<Partial<Record<Action, () => Steps<Outcome>>>> = {
    placeCopy: () => this.placeCopy(),
    awaitReplicas: () =>
      this.until(() =>
        // Not what a replica knows of an earlier adoption.
        this.replicas(({ stage }) => stage === 'Copying' || stage === 'Switching'),
      ),
    follow: () => this.now(() => this.carryOver()),
    rehearseFence: () => this.now(() => this.world.set({ fence: false })),
    check: () => this.check(),
    compareRevisions: () => this.require(() => this.world.isBelow(), 'passed'),
    putFence: () =>
      this.now(() => {
        this.world.set({ fence: true });
        this.identity = this.world.fenceIdentity;
      }),
    awaitFence: () => this.until(() => this.world.everywhere({ fence: true })),
    drain: () => this.until(() => this.world.servers.every(({ underWay }) => underWay === 0)),
    carryOver: () => this.now(() => this.carryOver()),
    compareFence: () =>
      this.require(
        () => this.world.fenceIdentity === (this.status.state === 'Switching' ? this.status.fence : this.identity),
      ),
    route: () =>
      this.now(() => {
        this.world.bring('Switching');
        this.world.set({ annex: true });
      }),
    awaitRoute: () => this.until(() => this.world.servers.every(({ known }) => known.annex)),
    stopServing: () =>
      this.status.state === 'Switching' && this.world.isDenied
        ? this.until(() => false)
        : this.now(() => this.world.set({ served: false })),
    openGate: () =>
      this.now(() => {
        this.world.bring('Served');
        if (!this.world.settings.annex) this.world.set({ annex: true });
      }),
    holdFence: () => this.now(() => this.world.set({ fence: true })),
    shutWatches: () => this.shutWatches(),
    raiseAboveShown: () =>
      this.now(() => {
        const { annex, last } = this.world;
        if (this.lastShown > 0) this.world.raiseAbove(Math.max(annex?.revision ?? 0, last));
      }),
    serve: () => this.now(() => this.serve()),
    restartCaches: () => this.now(() => this.world.set({ door: restarted(this.status.door) })),
    leave: () =>
      this.now(() => {
        this.world.bring('Left');
        this.world.set({ annex: false });
      }),
    awaitLeft: () => this.until(() => this.world.annex === undefined || this.replicas(({ stage }) => stage === 'Left')),
    awaitRouteBack: () => this.until(() => this.world.everywhere({ annex: false, served: true })),
    removeDefinitions: () => this.now(() => this.world.discard()),
    removeFence: () => this.removeFence(),
    discover: () => this.discover(),
    unmark: () => this.now(() => this.world.set({ door: 0 })),
    takeDoor: () => this.now(() => this.takeDoor()),
    openDoor: () => this.now(() => this.world.set({ door: this.door, fence: true, served: false, annex: true })),
    awaitDoor: () => this.until(() => this.world.everywhere({ door: this.door, fence: true })),
    bring: () => this.bring(),
    load: () => this.load(),
    closeGate: () => this.now(() => this.world.bring('Closing')),
    awaitGate: () =>
      this.unlessLate(() => this.replicas(({ stage, underWay }) => stage === 'Closing' && underWay === 0)),
    endWatches: () => this.endWatches(),
    lastCarry: () => this.lastCarry(),
    compareCounts: () => this.require(() => isEqual(this.world, this.uids)),
    raise: () =>
      this.now(() => {
        this.lastShown = Math.max(this.world.annex?.revision ?? 0, this.lastShown);
        // Small writes, at most 2,000 per second: a replica that lost the lease notices long before they pass the margin of the next switch.
        this.world.raiseAbove(this.lastShown);
      }),
    reload: () => this.now(() => this.reload()),
    awaitServed: () => this.until(() => this.world.everywhere({ served: true, door: this.world.settings.door })),
    closeDoor: () => this.now(() => this.world.set({ door: 0 })),
  };

  /** Ends at once. */
  private rehearse(): Outcome {
    const { world, status } = this;
    if (this.write({ state: 'InSync', fence: undefined, isRetried: false }) === 'lost') return 'lost';
    if (status.state === 'GivingUp') world.counts.retried++;
    else {
      world.counts.returned++;
      world.mustBeAlive();
    }
    return 'done';
  }

  private write(next: Partial<Omit<Status, 'version'>>): Outcome {
    if (!this.world.advance(this.status, next)) return 'lost';
    this.read();
    return 'done';
  }

  // eslint-disable-next-line require-yield
  private *now(work: () => unknown): Steps<Outcome> {
    return work() === 'lost' ? 'lost' : 'done';
  }

  // eslint-disable-next-line require-yield
  private *require(condition: () => boolean, otherwise: Failure = 'refused'): Steps<Outcome> {
    return condition() ? 'done' : otherwise;
  }

  private *until(condition: () => boolean): Steps<Outcome> {
    return (yield* this.world.until(condition)) ? 'done' : 'failed';
  }

  /** Writes may be refused for so long: in some schedules the time is over. */
  private *unlessLate(condition: () => boolean): Steps<Outcome> {
    return this.world.random.once(4) ? 'failed' : yield* this.until(condition);
  }

  private replicas(condition: (replica: Replica) => boolean): boolean {
    return this.world.replicas.every((replica) => replica.silent || condition(replica));
  }

  // eslint-disable-next-line require-yield
  private *check(): Steps<Outcome> {
    const { state } = this.status;
    this.read();
    if (this.status.state !== state) return 'failed';
    const isBack = state === 'Returning' || state === 'Closing';
    return this.world.wanted === (isBack ? 'Cluster' : 'Annex') ? 'done' : 'refused';
  }

  /** Makes the copy the base. */
  private *placeCopy(): Steps<Outcome> {
    const { world } = this;
    const copy = new Map(world.etcd.objects);
    yield;
    if (!world.isCurrent(this.status)) return 'lost';
    if (world.annex !== undefined) return 'done';
    const annex = new Side(Math.max(world.annexRevision, world.etcd.revision + MARGIN));
    for (const [key, value] of copy) annex.objects.set(key, value);
    world.annex = annex;
    world.first = annex.revision;
    world.closedAt = undefined;
    world.bring('Copying');
    return 'done';
  }

  /** Carries changes over as ordinary writes, while nothing else writes in Annex. */
  private carryOver(): void {
    const { annex, etcd, definition } = this.world;
    // A leader that resumes when Annex owns the group, or returns it, has nothing to copy.
    if (annex === undefined || (definition !== 'Copying' && definition !== 'Switching')) return;
    for (const key of KEYS) {
      const [theirs, ours] = [etcd.objects.get(key), annex.objects.get(key)];
      if (theirs?.op !== ours?.op) annex.write(key, theirs);
    }
    this.world.annexRevision = annex.revision;
  }

  private *shutWatches(): Steps<Outcome> {
    const { world } = this;
    this.lastShown = 0;
    // Once the routes go, the revision has been raised already.
    if (world.definition === 'Left') return 'done';
    world.bring('Returning');
    this.lastShown = world.last;
    return yield* this.until(() => this.replicas(({ stage }) => stage === 'Returning'));
  }

  /** A definition that is served already, and signals it, does not change. */
  private serve(): void {
    const { world, status } = this;
    if (status.state !== 'Routing') world.set({ served: true });
    else if (!world.settings.served || world.settings.door < loaded(status.door))
      world.set({ served: true, door: restored(status.door) });
  }

  // eslint-disable-next-line require-yield
  private *removeFence(): Steps<Outcome> {
    this.world.set({ fence: false });
    const { state, fence } = this.status;
    return state === 'GivingUp' && fence !== undefined ? this.write({ fence: undefined }) : 'done';
  }

  /** Deletes the APIServices of the cluster again while a kube-apiserver asks Annex for discovery. */
  private *discover(): Steps<Outcome> {
    const { world } = this;
    while (!world.isDiscovered()) {
      const { service } = world.settings;
      if (yield* world.until(() => world.isDiscovered())) break;
      if (!world.isCurrent(this.status)) return 'lost';
      world.counts.askedAgain++;
      world.set({ service: service + 1 });
    }
    return 'done';
  }

  private takeDoor(): Outcome {
    const { world, status } = this;
    const door = world.guards.ownDoor ? this.door || status.door + 1 : 1;
    this.door = door;
    this.uids = new Map();
    return status.state === 'Returning' && status.door === door ? 'done' : this.write({ state: 'Returning', door });
  }

  private *bring(): Steps<Outcome> {
    for (const key of KEYS) yield* bring(this.world, key, this.door, this.uids);
    return 'done';
  }

  /** kube-apiservers load the type while Annex takes writes, at a revision that Annex rarely passes before the gate closes. */
  private *load(): Steps<Outcome> {
    const { world } = this;
    const door = loaded(this.door);
    if (world.annex !== undefined) world.raiseAbove(world.annex.revision + ROOM + PIN_ROOM);
    this.loadedAbove = world.etcd.revision;
    if (!world.isConverted) {
      world.set({ served: true, door });
      if (!(yield* world.until(() => world.everywhere({ served: true, door })))) return 'failed';
    }
    return yield* this.bring();
  }

  private *endWatches(): Steps<Outcome> {
    this.world.bring('Returning');
    this.lastShown = this.world.last;
    return yield* this.until(() => this.replicas(({ stage }) => stage === 'Returning'));
  }

  private *lastCarry(): Steps<Outcome> {
    for (let i = 0; i < 3 && !isEqual(this.world, this.uids); i++) yield* this.bring();
    return isEqual(this.world, this.uids) ? 'done' : 'failed';
  }

  private reload(): void {
    if (this.world.isConverted || this.lastShown < this.loadedAbove) return;
    this.world.counts.reloaded++;
    this.world.set({ door: restored(this.door) });
  }
}
