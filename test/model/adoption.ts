import { Parties, type Party, type Steps } from './parties.js';
import { Random } from './random.js';

/** The guards of the protocol (docs/design/adoption.md); each can be taken away. */
export interface AdoptionGuards {
  /** Writes in the cluster are denied before the copy is final, and for as long as the copy is there. */
  readonly fence: boolean;
  /** Annex takes writes only when every kube-apiserver routes to it; without: when one does. */
  readonly everyRoute: boolean;
  /** The fence stays when Annex takes writes; without: it goes as soon as one kube-apiserver routes to Annex. */
  readonly fenceStays: boolean;
  /** The gate waits for requests that have passed admission. */
  readonly drain: boolean;
  /** What was committed late is carried over before the gate opens. */
  readonly carryOver: boolean;
  /** Versions are not served in the cluster from the switch on. */
  readonly unserved: boolean;
  /** Giving up returns routes before the fence. */
  readonly fenceLast: boolean;
  /** The status changes by compare-and-write. */
  readonly compare: boolean;
}

export const ALL: AdoptionGuards = {
  fence: true,
  everyRoute: true,
  fenceStays: true,
  drain: true,
  carryOver: true,
  unserved: true,
  fenceLast: true,
  compare: true,
};

export interface ExploredAdoption {
  readonly violations: readonly string[];
  readonly acknowledged: number;
  readonly refused: number;
  readonly served: boolean;
  readonly gaveUp: boolean;
}

type Phase = 'InSync' | 'Fencing' | 'Switching' | 'Served' | 'Returning' | 'Failed';

/** What the cluster's store says of the three barriers, and what one kube-apiserver has learned of it. */
interface Settings {
  readonly fence: boolean;
  readonly annex: boolean;
  readonly served: boolean;
}

interface ApiServer {
  known: Settings;
  underWay: number;
}

interface Value {
  readonly op: number;
  readonly revision: number;
}

const KEYS = ['a', 'b'];
const NOTHING: Value = { op: 0, revision: 0 };
const PATIENCE = 60;

/** One schedule: what the parties do, in an order that the seed decides. */
export function exploreAdoption(seed: number, guards: AdoptionGuards, steps = 900): ExploredAdoption {
  return new Schedule(seed, guards).run(steps);
}

class Schedule {
  private readonly random: Random;
  private readonly parties: Parties;
  private readonly violations: string[] = [];
  private settings: Settings = { fence: false, annex: false, served: true };
  private readonly servers: ApiServer[];
  private etcdRevision = 10;
  private readonly etcd = new Map<string, Value>();
  /** Annex' store: the base and the log together, once they are in place. */
  private annex: Map<string, Value> | undefined;
  private annexRevision = 0;
  private status: { readonly phase: Phase; readonly version: number } = { phase: 'InSync', version: 1 };
  /** The newest acknowledged write of each object, wherever it was made. */
  private readonly truth = new Map<string, Value>();
  private ops = 0;
  private acknowledged = 0;
  private refused = 0;
  private gaveUp = false;
  /** Of the three barriers somebody removes one at a time; the next only when it stands again. */
  private meddled = false;

  constructor(
    seed: number,
    private readonly guards: AdoptionGuards,
  ) {
    this.random = new Random(seed);
    this.parties = new Parties(this.random, { once: 25, longOnce: 6, short: 60 });
    this.servers = [0, 1].map(() => ({ known: this.settings, underWay: 0 }));
    for (let i = 0; i < 3; i++) this.parties.add(this.client());
    for (let i = 0; i < 2; i++) this.parties.add(this.leader());
    for (const server of this.servers) this.parties.add(this.learner(server));
    this.parties.add(this.meddler());
  }

  run(steps: number): ExploredAdoption {
    for (let step = 0; step < steps; step++) this.parties.advance(step, steps);
    const { violations, acknowledged, refused, gaveUp } = this;
    return { violations, acknowledged, refused, gaveUp, served: this.status.phase === 'Served' };
  }

  private set(change: Partial<Settings>): void {
    this.settings = { ...this.settings, ...change };
  }

  /** A kube-apiserver learns of policies, routes and definitions by three watches, each at its own time. */
  private *learner(server: ApiServer): Party {
    for (;;) {
      yield;
      const what = this.random.pick(['fence', 'annex', 'served'] as const);
      server.known = { ...server.known, [what]: this.settings[what] };
    }
  }

  /** Reads an object through some kube-apiserver, and updates it with a precondition through some other. */
  private *client(): Party {
    for (;;) {
      yield;
      const key = this.random.pick(KEYS);
      const read = this.store(this.random.pick(this.servers))?.get(key);
      if (read === undefined && this.random.once(2)) continue;
      yield;
      yield* this.write(this.random.pick(this.servers), key, read ?? NOTHING);
    }
  }

  private store(server: ApiServer): ReadonlyMap<string, Value> | undefined {
    if (server.known.annex) return this.annex;
    return server.known.served ? this.etcd : undefined;
  }

  private *write(server: ApiServer, key: string, expected: Value): Steps<void> {
    const op = ++this.ops;
    server.underWay++;
    if (server.known.annex) this.writeAnnex(key, op, expected);
    else yield* this.writeEtcd(server, key, op, expected);
    server.underWay--;
  }

  private *writeEtcd(server: ApiServer, key: string, op: number, expected: Value): Steps<void> {
    if (!server.known.served || server.known.fence) {
      this.refused++;
      return;
    }
    // It has passed admission, and may be committed late.
    yield;
    if (this.random.once(3)) for (let i = this.random.below(30); i > 0; i--) yield;
    if ((this.etcd.get(key)?.revision ?? 0) !== expected.revision) return;
    const value = { op, revision: ++this.etcdRevision };
    this.etcd.set(key, value);
    this.acknowledge(key, value, expected, 'etcd');
  }

  private writeAnnex(key: string, op: number, expected: Value): void {
    const { annex } = this;
    if (annex === undefined || this.status.phase !== 'Served') {
      this.refused++;
      return;
    }
    if ((annex.get(key)?.revision ?? 0) !== expected.revision) return;
    const value = { op, revision: ++this.annexRevision };
    annex.set(key, value);
    this.acknowledge(key, value, expected, 'Annex');
  }

  private acknowledge(key: string, value: Value, expected: Value, where: string): void {
    const last = this.truth.get(key) ?? NOTHING;
    if (last.op !== expected.op)
      this.violations.push(`${where} acknowledged write ${value.op} of ${key} without write ${last.op}: it is lost`);
    if (last.revision >= value.revision)
      this.violations.push(`the revision of ${key} went back from ${last.revision} to ${value.revision}`);
    this.truth.set(key, value);
    this.acknowledged++;
  }

  /** A user who removes one of the barriers; somebody of Annex puts it back. */
  private *meddler(): Party {
    for (;;) {
      for (let i = 40 + this.random.below(120); i > 0; i--) yield;
      const { phase } = this.status;
      if (phase === 'InSync' || phase === 'Failed' || phase === 'Returning' || this.meddled) continue;
      const before = this.settings;
      const what = this.random.pick([{ fence: false }, { annex: false }, { served: true }]);
      this.meddled = true;
      this.set(what);
      for (let i = this.random.below(20); i > 0; i--) yield;
      if (this.status.phase === phase) {
        const [name] = Object.keys(what) as (keyof Settings)[];
        if (name !== undefined) this.set({ [name]: before[name] });
        for (
          let i = 0;
          i < PATIENCE && this.servers.some(({ known }) => known[name ?? 'fence'] !== before[name ?? 'fence']);
          i++
        )
          yield;
      }
      this.meddled = false;
    }
  }

  /** A replica that believes it leads. Two of them may. */
  private *leader(): Party {
    for (;;) {
      yield;
      const seen = this.status;
      if (seen.phase === 'InSync') {
        if (!this.advance(seen, 'Fencing')) continue;
      } else if (seen.phase === 'Fencing') yield* this.fencing(seen);
      else if (seen.phase === 'Switching') yield* this.switching(seen);
      else if (seen.phase === 'Returning') yield* this.giveUp(seen);
      else if (seen.phase === 'Served') this.hold(seen);
    }
  }

  /** False where another leader was faster. */
  private advance(seen: { readonly version: number }, phase: Phase): boolean {
    if (this.guards.compare && this.status.version !== seen.version) return false;
    this.status = { phase, version: this.status.version + 1 };
    return true;
  }

  private current(seen: { readonly version: number }): boolean {
    return !this.guards.compare || this.status.version === seen.version;
  }

  private *fencing(seen: { readonly version: number }): Steps<void> {
    if (this.guards.fence) {
      this.set({ fence: true });
      if (!(yield* this.until(() => this.servers.every(({ known }) => known.fence)))) {
        this.advance(seen, 'Returning');
        return;
      }
    }
    this.advance(seen, 'Switching');
  }

  private *switching(seen: { readonly version: number }): Steps<void> {
    if (this.annex === undefined) {
      const copy = new Map(this.etcd);
      const revision = this.etcdRevision;
      yield;
      if (!this.current(seen) || this.hasBase()) return;
      this.annex = copy;
      this.annexRevision = revision + 1;
    }
    yield;
    if (!this.current(seen)) return;
    this.set({ annex: true });
    const routed = (): boolean =>
      this.guards.everyRoute
        ? this.servers.every(({ known }) => known.annex)
        : this.servers.some(({ known }) => known.annex);
    if (!(yield* this.until(routed))) return void this.advance(seen, 'Returning');
    if (!this.guards.fenceStays) this.set({ fence: false });
    if (this.guards.unserved && this.current(seen)) this.set({ served: false });
    if (this.guards.unserved && !(yield* this.until(() => this.servers.every(({ known }) => !known.served))))
      return void this.advance(seen, 'Returning');
    if (this.guards.drain && !(yield* this.until(() => this.servers.every(({ underWay }) => underWay === 0))))
      return void this.advance(seen, 'Returning');
    if (!this.current(seen)) return;
    if (this.guards.carryOver) this.carryOver();
    yield;
    // The barriers are looked at once more: somebody may have removed one.
    const standing = this.servers.every(({ known }) => known.annex || !this.guards.everyRoute);
    if (standing) this.advance(seen, 'Served');
  }

  private hasBase(): boolean {
    return this.annex !== undefined;
  }

  private carryOver(): void {
    const { annex } = this;
    for (const key of KEYS) {
      const [theirs, ours] = [this.etcd.get(key), annex?.get(key)];
      if (theirs === undefined || theirs.op === ours?.op) continue;
      const carried = { op: theirs.op, revision: ++this.annexRevision };
      annex?.set(key, carried);
      this.truth.set(key, carried);
    }
  }

  private *giveUp(seen: { readonly version: number }): Steps<void> {
    this.gaveUp = true;
    const everywhere = (what: Partial<Settings>): boolean =>
      this.servers.every(({ known }) =>
        Object.entries(what).every(([name, value]) => known[name as keyof Settings] === value),
      );
    if (!this.guards.fenceLast) this.set({ fence: false });
    this.set({ served: true, annex: false });
    if (this.guards.fenceLast) while (!everywhere({ annex: false, served: true })) yield;
    if (!this.current(seen)) return;
    this.annex = undefined;
    yield;
    if (!this.current(seen)) return;
    this.set({ fence: false });
    this.advance(seen, 'Failed');
  }

  /** What a leader looks at while Annex owns the group. */
  private hold(seen: { readonly version: number }): void {
    if (this.current(seen) && !this.meddled)
      this.set({ fence: this.guards.fence && this.guards.fenceStays, annex: true, served: !this.guards.unserved });
  }

  /** False where it takes too long. */
  private *until(condition: () => boolean): Steps<boolean> {
    for (let i = 0; i < PATIENCE; i++) {
      if (condition()) return true;
      yield;
    }
    return condition();
  }
}
