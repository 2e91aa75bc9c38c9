import type { AdoptionStage } from '../../../src/adoption/protocol/stages.js';
import { type State, STATES } from '../../../src/adoption/protocol/states.js';
import { Parties, type Party, type Steps } from '../parties.js';
import { Random } from '../random.js';
import type { AdoptionGuards } from './guards.js';
import { Informer, readerOf } from './informer.js';
import { Side, type Value } from './side.js';

type Stage = AdoptionStage;

export interface Status {
  readonly state: State;
  /** The identity of the fence that held everywhere when the copy was complete; undefined if clients have not been routed to Annex. */
  readonly fence: number | undefined;
  /** The switch that is given up is tried again by itself. */
  readonly isRetried: boolean;
  readonly door: number;
  readonly version: number;
}

/** The settings in the cluster's store, or those that one kube-apiserver has observed. */
interface Settings {
  readonly fence: boolean;
  readonly annex: boolean;
  readonly served: boolean;
  /** The number of the back door; 0 if none exists. */
  readonly door: number;
  /** The number of the APIService: another one after it was deleted. */
  readonly service: number;
}

export interface ApiServer {
  known: Settings;
  underWay: number;
  /** It asks Annex for discovery, whose answer outranks the cluster's own resources. */
  asks: boolean;
  /** The epoch of its watch cache, which starts from scratch with the definition. */
  epoch: number;
  cacheFrom: number;
}

export interface Replica {
  stage: Stage | undefined;
  /** The newest revision that its lists show in the stages Returning and Left. */
  last: number;
  underWay: number;
  /** Stalled in the middle of a write, for so long that no party waits for it. */
  silent: boolean;
}

/** The distance between the log of Annex and the cluster's revision at which it starts. */
export const MARGIN = 10_000;
export const KEYS = ['a', 'b', 'c'];
/** How far ahead of Annex's log the newest revision lies that lists show while the group leaves. */
export const PIN_ROOM = 1_000;
const PATIENCE = 60;
const RESTING: ReadonlySet<State> = new Set<State>(['InSync', 'Served', 'Failed']);
const NOTHING = { op: 0, revision: 0, uid: '' };

/** The cluster, Annex, and their clients. */
export class World {
  readonly random: Random;
  readonly violations: string[] = [];
  readonly servers: ApiServer[];
  readonly replicas: Replica[] = [0, 1].map(() => ({ stage: undefined, last: 0, underWay: 0, silent: false }));
  readonly etcd = new Side(10);
  /** The base and the log together, once they are in place. */
  annex: Side | undefined;
  annexRevision = 0;
  /** The log continues above this revision. */
  first = 0;
  definition: Stage | undefined;
  closedAt: number | undefined;
  /** The newest revision that lists of Annex show while the group leaves. */
  last = 0;
  status: Status = { state: 'InSync', fence: undefined, isRetried: false, door: 0, version: 1 };
  settings: Settings = { fence: false, annex: false, served: true, door: 0, service: 0 };
  fenceIdentity = 0;
  /** A webhook converts the type: it is loaded only when the group goes back, since nothing could be written through the back door. */
  readonly isConverted: boolean;
  /** A policy of users denies changes of the definition, so a switch is given up after its route. */
  readonly isDenied: boolean;
  wanted: 'Annex' | 'Cluster' = 'Cluster';
  /** Uids whose deletion was acknowledged. */
  private readonly dead = new Set<string>();
  readonly counts = {
    acknowledged: 0,
    refused: 0,
    switched: 0,
    returned: 0,
    gaveUp: 0,
    retried: 0,
    stayed: 0,
    reloaded: 0,
    settled: 0,
    askedAgain: 0,
  };
  private readonly parties: Parties;
  /** The newest acknowledged write of each object, in either store. */
  private readonly truth = new Map<
    string,
    { readonly op: number; readonly revision: number; readonly there: boolean }
  >();
  /** Writes since then with unknown outcome; 0 for a deletion. */
  private readonly unknown = new Map<string, Set<number>>();
  private readonly informers: readonly Informer[];
  private readonly clients: Party[] = [];
  private ops = 0;
  private pending = 0;
  isMeddled = false;
  /** True if the fence was removed during a switch, or a route during the return: until that is over, reads may be stale, or fail. */
  isBroken = false;
  private calm = false;

  constructor(
    seed: number,
    readonly guards: AdoptionGuards,
    private readonly leader: (world: World) => Party,
  ) {
    this.random = new Random(seed);
    this.isDenied = seed % 16 === 0;
    this.isConverted = this.random.once(3);
    this.parties = new Parties(this.random, { once: 40, longOnce: 10, short: 60 });
    this.servers = [0, 1].map(() => ({
      ...{ known: this.settings, underWay: 0, asks: false, epoch: 0, cacheFrom: 10 },
    }));
    this.informers = [0, 1].map(() => new Informer(this));
    for (let i = 0; i < 3; i++) this.clients.push(this.client());
    for (const party of this.clients) this.parties.add(party);
    for (let i = 0; i < 2; i++) this.parties.add(leader(this));
    for (const server of this.servers) this.parties.add(this.learner(server));
    for (const replica of this.replicas) this.parties.add(this.follower(replica));
    for (const informer of this.informers) this.parties.add(informer.party());
    for (const server of this.servers) this.parties.add(readerOf(this, server));
    this.parties.add(this.meddler());
    this.parties.add(this.user());
    this.parties.add(this.others());
  }

  run(steps: number): void {
    for (let step = 0; step < steps; step++) this.parties.advance(step, steps);
    this.settle();
  }

  set(change: Partial<Settings>): void {
    // A write like any other.
    this.etcd.revision++;
    if (change.fence !== undefined && change.fence !== this.settings.fence) this.fenceIdentity++;
    const isDeleted = change.annex === false && this.settings.annex && this.guards.deletedRoutes;
    this.settings = { ...this.settings, ...(isDeleted && { service: this.settings.service + 1 }), ...change };
  }

  /** Reports whether no kube-apiserver asks Annex for discovery. */
  isDiscovered(): boolean {
    return this.servers.every(({ asks }) => !asks);
  }

  bring(stage: Stage): void {
    if (this.annex === undefined || this.definition === stage) return;
    this.definition = stage;
    this.annexRevision = ++this.annex.revision;
    if (stage === 'Returning') this.last = this.annex.revision + (this.guards.pinAhead ? PIN_ROOM : 0);
    if (stage === 'Served' || stage === 'Closing') this.closedAt = undefined;
    else this.closedAt ??= this.annex.revision;
  }

  /** Removes the copy. */
  discard(): void {
    this.annex = undefined;
    this.definition = undefined;
  }

  everywhere(what: Partial<Settings>): boolean {
    return this.servers.every(({ known }) =>
      Object.entries(what).every(([name, value]) => known[name as keyof Settings] === value),
    );
  }

  /** Returns false if another leader was faster. */
  advance(seen: Status, next: Partial<Omit<Status, 'version'>>): boolean {
    if (this.guards.compare && this.status.version !== seen.version) return false;
    if (next.state !== undefined && RESTING.has(next.state)) this.isBroken = false;
    this.status = { ...this.status, ...next, version: this.status.version + 1 };
    return true;
  }

  isCurrent(seen: Status): boolean {
    return !this.guards.compare || this.status.version === seen.version;
  }

  /** Returns false after a timeout. */
  *until(condition: () => boolean): Steps<boolean> {
    for (let i = 0; i < PATIENCE; i++) {
      if (condition()) return true;
      yield;
    }
    return condition();
  }

  /** Reports whether all revisions of the cluster are below those of Annex. */
  isBelow(): boolean {
    return this.etcd.revision < this.first;
  }

  raiseAbove(revision: number): void {
    this.etcd.revision = Math.max(this.etcd.revision, revision);
  }

  /**
   * Reports whether a return is being given up after other types have written beyond the last revision: replicas that know of it show newer
   * revisions than those that do not.
   */
  get isReopening(): boolean {
    if (this.definition === 'Returning' || this.definition === 'Left') return false;
    const { revision = 0 } = this.annex ?? {};
    return this.replicas.some(({ stage, last }) => stage === 'Returning' && revision > last);
  }

  /** Returns the store that answers a read at a kube-apiserver; undefined means 404. */
  store(server: ApiServer): Side | undefined {
    if (server.known.annex) return this.annex;
    return server.known.served ? this.etcd : undefined;
  }

  /** A kube-apiserver observes policies, routes, and definitions through three watches, each with its own delay. In some schedules one is far behind. */
  private *learner(server: ApiServer): Party {
    const behind = server === this.servers[1] && this.random.once(3) ? 1 + this.random.below(12) : 1;
    for (;;) {
      for (let i = 0; i < behind; i++) yield;
      this.learn(server, this.random.pick(['fence', 'annex', 'definition'] as const));
    }
  }

  private learn(server: ApiServer, what: 'fence' | 'annex' | 'definition'): void {
    const { settings } = this;
    if (what === 'annex') {
      const { annex, service } = settings;
      // A deletion that arrives together with the replacement is not noticed.
      if (annex) server.asks = true;
      else if (service !== server.known.service && !this.random.once(4)) server.asks = false;
      server.known = { ...server.known, annex, service };
      return;
    }
    if (what !== 'definition') {
      server.known = { ...server.known, [what]: settings[what] };
      return;
    }
    const { served, door } = settings;
    if (server.known.served === served && server.known.door === door) return;
    // When it is served again, all earlier watches end.
    server.epoch++;
    server.cacheFrom = this.etcd.revision;
    server.known = { ...server.known, served, door };
  }

  private *follower(replica: Replica): Party {
    for (;;) {
      yield;
      this.follow(replica);
    }
  }

  private follow(replica: Replica): void {
    replica.stage = this.definition;
    replica.last = this.last;
  }

  /** Writes of other types in both stores. */
  private *others(): Party {
    for (;;) {
      for (let i = this.random.below(20); i > 0; i--) yield;
      // Rarely far beyond the margin.
      // Nor before every kube-apiserver knows that the versions are not served (docs/design/adoption.md, known gaps).
      const isKnown = this.settings.served || this.everywhere({ served: false });
      this.etcd.revision += isKnown && this.random.once(60) ? 2 * MARGIN : this.random.below(3);
      // Beyond the room only when every replica knows the last revision.
      const isPinned = this.replicas.every(({ stage }) => stage === 'Returning' || stage === 'Left');
      const written = isPinned && this.random.once(2) ? 2 * PIN_ROOM : this.random.below(10);
      if (this.annex !== undefined) this.annexRevision = this.annex.revision += written;
      yield;
    }
  }

  private *user(): Party {
    for (;;) {
      for (let i = 10 + this.random.below(60); i > 0; i--) yield;
      const { state } = this.status;
      if (state === 'Served' || this.random.once(6)) this.wanted = 'Cluster';
      else if (state === 'InSync' || state === 'Failed') this.wanted = state === 'Failed' ? 'Cluster' : 'Annex';
    }
  }

  /** Reads an object through any kube-apiserver, and writes it with a precondition through any other. */
  private *client(): Party {
    while (!this.calm) {
      yield;
      const key = this.random.pick(KEYS);
      const store = this.store(this.random.pick(this.servers));
      if (store === undefined) {
        if (!this.isMeddled && !this.isBroken && this.isReturning) this.violations.push(`a read of ${key} failed`);
        continue;
      }
      const read = store.objects.get(key);
      // If the route was removed, the cluster may still show its copy.
      if (!this.isMeddled && !this.isBroken) this.mustBeNew(key, read);
      yield;
      yield* this.write(this.random.pick(this.servers), key, read);
    }
  }

  private mustBeNew(key: string, read: Value | undefined): void {
    const { revision, there, op } = this.truth.get(key) ?? { ...NOTHING, there: false };
    if (this.unknown.get(key)?.has(read?.op ?? 0) === true) return;
    if (there ? (read?.revision ?? 0) < revision : (read?.revision ?? revision + 1) <= revision)
      this.violations.push(`a read of ${key} shows ${read?.op ?? 'nothing'} after write ${op}: it is stale`);
  }

  private *write(server: ApiServer, key: string, expected: Value | undefined): Steps<void> {
    const op = ++this.ops;
    this.pending++;
    const next = expected !== undefined && this.random.once(3) ? undefined : { op, uid: expected?.uid ?? `u${op}` };
    server.underWay++;
    if (server.known.annex) yield* this.writeAnnex(key, op, expected, next);
    else yield* this.writeEtcd(server, key, op, expected, next);
    server.underWay--;
    this.pending--;
  }

  private *writeEtcd(
    server: ApiServer,
    key: string,
    op: number,
    expected: Value | undefined,
    next: Next | undefined,
  ): Steps<void> {
    if (!server.known.served || server.known.fence) {
      this.counts.refused++;
      return;
    }
    // It has passed admission, and may be committed late.
    yield;
    if (this.random.once(3)) for (let i = this.random.below(30); i > 0; i--) yield;
    if ((this.etcd.objects.get(key)?.revision ?? 0) !== (expected?.revision ?? 0)) return;
    this.acknowledge(key, op, expected, next, this.etcd.write(key, next));
  }

  private *writeAnnex(key: string, op: number, expected: Value | undefined, next: Next | undefined): Steps<void> {
    const replica = this.random.pick(this.replicas);
    if (this.annex === undefined || replica.stage !== 'Served') {
      this.counts.refused++;
      return;
    }
    // It has passed the gate.
    replica.underWay++;
    const isLong = this.random.once(12);
    if (isLong) replica.silent = true;
    for (let i = this.random.below(isLong ? 300 : 8); i > 0; i--) yield;
    replica.underWay--;
    if (isLong) replica.silent = false;
    const { annex } = this as { readonly annex: Side | undefined };
    if (annex === undefined || (annex.objects.get(key)?.revision ?? 0) !== (expected?.revision ?? 0)) return;
    const revision = annex.write(key, next);
    this.annexRevision = revision;
    if (this.guards.committedBefore && revision > (this.closedAt ?? Infinity)) {
      // The client gets no answer: the write may persist, or not.
      const unknown = this.unknown.get(key) ?? new Set();
      this.unknown.set(key, unknown.add(next?.op ?? 0));
      return;
    }
    this.acknowledge(key, op, expected, next, revision);
  }

  private acknowledge(
    key: string,
    op: number,
    expected: Value | undefined,
    next: Next | undefined,
    revision: number,
  ): void {
    const last = this.truth.get(key) ?? { ...NOTHING, there: false };
    const isUnknown = this.unknown.get(key)?.has(expected?.op ?? 0) === true;
    this.unknown.delete(key);
    if (!isUnknown && (last.there ? last.op !== expected?.op : expected !== undefined))
      this.violations.push(`write ${op} of ${key} was acknowledged without write ${last.op}: it is lost`);
    if (last.revision >= revision)
      this.violations.push(`the revision of ${key} went back from ${last.revision} to ${revision}`);
    this.truth.set(key, { op, revision, there: next !== undefined });
    if (next === undefined && expected !== undefined) this.dead.add(expected.uid);
    this.counts.acknowledged++;
  }

  /** Verifies that no object of the cluster has a uid whose deletion was acknowledged. */
  mustBeAlive(): void {
    for (const { uid } of this.etcd.objects.values())
      if (this.dead.has(uid)) this.violations.push(`the uid ${uid} is back from the dead`);
  }

  /** A user who removes one of the barriers, which Annex then restores. */
  private *meddler(): Party {
    for (;;) {
      for (let i = 40 + this.random.below(120); i > 0; i--) yield;
      const { state } = this.status;
      // On the way back, each barrier is removed for good.
      if (!['Fencing', 'Switching', 'Served', 'Returning'].includes(state)) continue;
      const before = this.settings;
      // Where nothing keeps users from removing the routes on the way back, they do.
      const isBack = state === 'Returning';
      const canRemove = !this.guards.fencedRoutes && isBack;
      const what = canRemove ? 'annex' : this.random.pick(['fence', 'annex', 'served'] as const);
      if (what === 'annex' && this.areRoutesFenced) continue;
      if (before[what] === (what === 'served')) continue;
      this.isMeddled = true;
      this.isBroken ||= isBack || (what === 'fence' && state !== 'Served');
      this.set({ [what]: what === 'served' });
      for (let i = this.random.below(20); i > 0; i--) yield;
      if (this.status.state === state || ['Served', 'Returning', 'Closing'].includes(this.status.state)) {
        this.set({ [what]: before[what] });
        while (this.settings[what] === before[what] && !this.everywhere({ [what]: before[what] })) yield;
      }
      this.isMeddled = false;
    }
  }

  private get isReturning(): boolean {
    return STATES[this.status.state].back !== '';
  }

  private get areRoutesFenced(): boolean {
    return this.guards.fencedRoutes && this.isReturning && this.everywhere({ fence: true });
  }

  /** Stops all writes and completes every watch: then informers must hold the objects of the group's owner. */
  private settle(): void {
    this.calm = true;
    // Failures while the last writes end are not reads of a client.
    this.isMeddled = true;
    for (let i = 0; i < 400 && this.pending > 0; i++) for (const party of this.clients) party.next();
    this.isMeddled = false;
    const leader = this.leader(this);
    const watching = this.informers.map((informer) => informer.party());
    for (let i = 0; i < 300; i++) {
      for (const server of this.servers)
        for (const what of ['fence', 'annex', 'definition'] as const) this.learn(server, what);
      for (const replica of this.replicas) this.follow(replica);
      leader.next();
      for (const party of watching) party.next();
    }
    if (!RESTING.has(this.status.state)) return;
    this.counts.settled++;
    const owner = this.status.state === 'Served' ? this.annex : this.etcd;
    if (owner === undefined || this.store(this.servers[0] as ApiServer) !== owner) return;
    if (owner === this.etcd && this.servers.some(({ asks }) => asks))
      this.violations.push('the types are lost to discovery: a kube-apiserver asks Annex for them');
    for (const key of KEYS) this.mustBeNew(key, owner.objects.get(key));
    for (const { held } of this.informers) {
      for (const key of KEYS) {
        const [has, is] = [held.get(key), owner.objects.get(key)];
        if (has?.revision !== is?.revision || has?.uid !== is?.uid)
          this.violations.push(
            `an informer holds ${key} at ${has?.revision ?? 'no'} revision, and it is at ${is?.revision ?? 'none'}`,
          );
      }
    }
  }
}

type Next = { readonly op: number; readonly uid: string };
