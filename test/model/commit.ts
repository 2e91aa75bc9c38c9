import { Parties, type Party, type Steps } from './parties.js';
import { Database, type Entry, type Version } from './database.js';
import { Random } from './random.js';

/** The guards of the protocol (docs/design/mongodb-commit.md); each can be taken away. */
export interface Guards {
  /** An append fails where the floor has reached its first revision. */
  readonly fence: boolean;
  /** Of an unknown outcome below the floor nobody says anything; without: it counts as not committed. */
  readonly admitsIgnorance: boolean;
  /** A majority has the floor before anything is deleted. */
  readonly floorFirst: boolean;
  /** Whoever reads entries checks that each follows the one before; without: only the first one. */
  readonly contiguous: boolean;
  /** What is told to clients as the present is read linearizably; without: by majority. */
  readonly linearizable: boolean;
}

export const ALL: Guards = {
  fence: true,
  admitsIgnorance: true,
  floorFirst: true,
  contiguous: true,
  linearizable: true,
};

type Outcome = 'committed' | 'stale' | 'overtaken' | 'mismatch' | 'busy' | 'unknown';

interface Write {
  readonly op: number;
  readonly key: string;
  /** Revision that the object must have; 0: it must not exist. */
  readonly expected: number;
}

const KEYS = ['a', 'b'];
const FIRST = 1;
const READ = 2;

export interface Explored {
  /** What went wrong. */
  readonly violations: readonly string[];
  /** How many writes were acknowledged, and refused. */
  readonly acknowledged: number;
  readonly refused: number;
}

/** One schedule: what the parties do, in an order that the seed decides. */
export function explore(seed: number, guards: Guards, steps = 600): Explored {
  return new Schedule(seed, guards).run(steps);
}

class Schedule {
  private readonly random: Random;
  private readonly database: Database;
  private readonly parties: Parties;
  private readonly acknowledged = new Map<number, number>();
  private readonly refused = new Set<number>();
  private ops = 0;

  constructor(
    seed: number,
    private readonly guards: Guards,
  ) {
    this.random = new Random(seed);
    // In half of the schedules elections show nothing of the past: more room for the other faults.
    const showsPast = this.random.once(2);
    this.database = new Database(showsPast);
    this.parties = new Parties(this.random, { once: 12, longOnce: 3, short: 60 });
    for (let i = 0; i < 3; i++) this.parties.add(this.replica());
    for (let i = 0; i < 2; i++) this.parties.add(this.trimmer());
    this.parties.add(this.reader());
    if (showsPast) this.parties.add(this.lister());
  }

  run(steps: number): Explored {
    const { random, database } = this;
    for (let step = 0; step < steps; step++) {
      if (random.once(3)) database.replicate();
      if (random.once(30)) database.failOver();
      if (random.once(10)) database.killAll();
      this.parties.advance(step, steps);
    }
    return {
      violations: [...database.violations, ...this.afterwards()],
      acknowledged: this.acknowledged.size,
      refused: this.refused.size,
    };
  }

  private afterwards(): string[] {
    const wrong: string[] = [];
    const { durable } = this.database;
    for (const [op, revision] of this.acknowledged)
      if (durable.get(revision)?.op !== op) wrong.push(`write ${op} was acknowledged at ${revision}, and is not there`);
    for (const [revision, { op }] of durable)
      if (this.refused.has(op)) wrong.push(`write ${op} was refused, and appeared at ${revision}`);
    return wrong;
  }

  /** Takes writes one after the other, and commits them as the store does. */
  private *replica(): Party {
    let known = FIRST;
    for (;;) {
      yield;
      const write: Write = { op: ++this.ops, ...(yield* this.wish()) };
      const asked = this.database.settledIndex;
      for (let decided = false; !decided;) {
        yield;
        const first = known + 1;
        const outcome = yield* this.append(write, first);
        if (outcome === 'committed') {
          this.acknowledged.set(write.op, first);
          decided = true;
        } else if (outcome === 'unknown') {
          decided = yield* this.decide(write, first);
        } else if (outcome === 'mismatch') {
          // Read anew, for this write.
          const state = this.present().states.get(write.key) ?? 0;
          if (state !== write.expected) {
            this.refuse(write, asked);
            decided = true;
          }
        }
        if (outcome !== 'busy') known = yield* this.readOn(known);
      }
    }
  }

  /** What a client wants, of a state that it saw once. */
  private *wish(): Steps<Omit<Write, 'op'>> {
    const key = KEYS[this.random.below(KEYS.length)] ?? '';
    const expected = this.majorityRead().states.get(key) ?? 0;
    if (this.random.once(2)) yield;
    return { key, expected };
  }

  /** A transaction, and what the replica hears of it. */
  private *append(write: Write, first: number): Steps<Outcome> {
    if (this.random.once(6)) {
      // It is held up on its way, and the connection is given up meanwhile.
      this.parties.add(this.straggler(write, first));
      return 'unknown';
    }
    const outcome = yield* this.transact(write, first);
    return outcome === 'committed' && this.random.once(4) ? 'unknown' : outcome;
  }

  private *straggler(write: Write, first: number): Party {
    yield;
    yield* this.transact(write, first);
  }

  private *transact({ op, key, expected }: Write, first: number): Steps<Outcome> {
    const { database } = this;
    const transaction = database.begin();
    const { floor, log, states } = database.seen(transaction);
    const end = (outcome: Outcome): Outcome => {
      database.abort(transaction);
      return outcome;
    };
    if (this.guards.fence && floor >= first) return end('overtaken');
    yield;
    if (database.isOver(transaction)) return 'busy';
    if (log.has(first)) return end('stale');
    if (!database.lock(transaction, `log ${first}`)) return end('busy');
    yield;
    if (database.isOver(transaction)) return 'busy';
    if ((states.get(key) ?? 0) !== expected) return end('mismatch');
    if (!database.lock(transaction, `state ${key}`)) return end('busy');
    yield;
    const entry: Entry = { op, key };
    // Every other change is a deletion, so that objects are made anew.
    const deletes = expected !== 0 && op % 2 === 0;
    const ticket = database.commit(transaction, (version) => ({
      ...version,
      log: new Map(version.log).set(first, entry),
      states: deletes ? without(version.states, key) : new Map(version.states).set(key, first),
    }));
    if (ticket === undefined) return 'busy';
    while (database.outcome(ticket) === 'pending') yield;
    return database.outcome(ticket) === 'durable' ? 'committed' : 'unknown';
  }

  /** The answer to a commit was lost. True: the client has been told something. */
  private *decide(write: Write, first: number): Steps<boolean> {
    for (;;) {
      yield;
      const entry = this.majorityRead().log.get(first);
      if (entry !== undefined) {
        if (entry.op !== write.op) return false;
        this.acknowledged.set(write.op, first);
        return true;
      }
      yield;
      const outcome = yield* this.append(write, first);
      if (outcome === 'committed') {
        this.acknowledged.set(write.op, first);
        return true;
      }
      if (outcome === 'mismatch') return false;
      if (outcome === 'overtaken') return this.guards.admitsIgnorance;
    }
  }

  /** The newest revision that can be known from the log and the floor. */
  private *readOn(from: number): Steps<number> {
    const newest = Math.max(from, ...this.majorityRead().log.keys());
    yield;
    return Math.max(newest, this.majorityRead().floor);
  }

  private majorityRead(): Version {
    return this.database.majorityRead(this.random);
  }

  /** What is told as the present. */
  private present(): Version {
    return this.guards.linearizable ? this.database.settled : this.majorityRead();
  }

  private refuse({ op, key, expected }: Write, asked: number): void {
    const { database } = this;
    this.refused.add(op);
    if (database.history(asked).every(({ states }) => (states.get(key) ?? 0) === expected))
      database.violations.push(`write ${op} was refused, and it fitted all the time`);
  }

  /** Asks for the newest revision, as a consistent list does. */
  private *lister(): Party {
    for (;;) {
      yield;
      const atLeast = Math.max(FIRST, ...this.acknowledged.values());
      if (this.random.once(2)) yield;
      const { log, floor } = this.present();
      const newest = Math.max(floor, ...log.keys());
      if (newest < atLeast) this.database.violations.push(`${newest} was told to be the newest after ${atLeast}`);
    }
  }

  /** Trims at any time: how long the window is does not matter to what is promised. */
  private *trimmer(): Party {
    for (;;) {
      yield;
      const newest = Math.max(FIRST, ...this.majorityRead().log.keys());
      yield;
      if (!(yield* this.raise(newest))) continue;
      for (let revision = FIRST; revision < newest; revision++) {
        if (!this.majorityRead().log.has(revision)) continue;
        yield;
        this.database.update(`log ${revision}`, (version) => ({ ...version, log: without(version.log, revision) }));
      }
    }
  }

  private *raise(to: number): Steps<boolean> {
    const { database } = this;
    const ticket = database.update('floor', (version) => ({ ...version, floor: Math.max(version.floor, to) }));
    if (ticket === undefined) return false;
    if (!this.guards.floorFirst) return true;
    while (database.outcome(ticket) === 'pending') yield;
    return database.outcome(ticket) === 'durable';
  }

  /** Follows all events from where it is; a hole makes it begin anew. */
  private *reader(): Party {
    const { database } = this;
    let position = FIRST;
    for (;;) {
      yield;
      const end = Math.max(position, ...this.majorityRead().log.keys());
      const batch: number[] = [];
      // Batches of one cursor, each with what is there by then.
      for (let at = position; at < end; at = batch.at(-1) ?? end) {
        const some = following(this.majorityRead(), at).slice(0, READ);
        if (some.length === 0) break;
        batch.push(...some);
        yield;
      }
      const good = this.guards.contiguous
        ? batch.filter((revision, i) => revision === position + 1 + i)
        : batch[0] === position + 1
          ? batch
          : [];
      good.forEach((revision, i) => {
        if (revision !== position + 1 + i)
          database.violations.push(`a reader was shown ${revision} without all before it`);
      });
      position = good.at(-1) ?? (batch.length === 0 ? position : end);
    }
  }
}

function following({ log }: Version, after: number): number[] {
  return [...log.keys()].filter((revision) => revision > after).sort((a, b) => a - b);
}

function without<K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> {
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}
