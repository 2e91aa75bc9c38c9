import { Parties, type Party, type Steps } from '../parties.js';
import { Random } from '../random.js';
import { Database, endOf, type Batch, type State, type Ticket, type Version, type Write } from './database.js';

/** The guards of the protocol (docs/design/mongodb-log.md); each can be disabled. */
export interface Guards {
  /** An append counts as committed at once only if its answer is less than half a window younger than the writer's head. */
  readonly fence: boolean;
  /** An entry below the floor is void only if the floor was read early enough. */
  readonly admitsIgnorance: boolean;
  /** The floor never passes an unprojected batch. */
  readonly projectedFirst: boolean;
  /** A majority has the floor before anything is deleted. */
  readonly floorFirst: boolean;
  /** The age of a revision is MongoDB's time since it was seen. Without: since the date that its writer gave it. */
  readonly marks: boolean;
  /** A party that has read the log reads the floor afterwards. */
  readonly floorAfter: boolean;
  /** A document of the projection never goes back to an older revision. */
  readonly onlyForward: boolean;
  /** A deletion leaves its revision in the projection until the floor has passed it. */
  readonly tombstones: boolean;
  /** A party that takes over the batch of another replica first holds the keys, so that their tombstones stay. */
  readonly holds: boolean;
  /** A party that takes over a batch reads the floor after a majority has the held keys. */
  readonly holdsFirst: boolean;
  /** Everything before a gap is projected before `base` is set to its end. */
  readonly settledFirst: boolean;
  /** A load starts from scratch if the floor has passed the revision where it began, which was the floor or `base` at that time. */
  readonly loadsAnew: boolean;
  /** A snapshot is not used if it shows less projected than was known before. */
  readonly notFromThePast: boolean;
  /** A trimmer reads the held keys after a majority has the floor, not when it chooses the mark. */
  readonly heldAfter: boolean;
}

export const ALL: Guards = {
  fence: true,
  admitsIgnorance: true,
  projectedFirst: true,
  floorFirst: true,
  marks: true,
  floorAfter: true,
  onlyForward: true,
  tombstones: true,
  holds: true,
  holdsFirst: true,
  heldAfter: true,
  settledFirst: true,
  loadsAnew: true,
  notFromThePast: true,
};

type Verdict = 'committed' | 'anew' | 'again' | 'unknown';

/** The knowledge of a replica: the state of each key at the newest revision, and the moment at which that was the newest. */
interface Known {
  readonly states: Map<string, State>;
  head: number;
  moment: number;
}

const WINDOW = 40;
/** The last keys are rarely written, so that some stay deleted for long. */
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'];
const BUSY = 2;
/** A projector takes over one in PATIENCE of the batches that it finds. */
const PATIENCE = 3;

export interface Explored {
  readonly violations: readonly string[];
  readonly acknowledged: number;
  readonly refused: number;
  readonly unknown: number;
  /** The final floor. */
  readonly floor: number;
}

/** Runs one schedule: the steps of the parties, in an order that the seed decides. */
export function explore(seed: number, guards: Guards, steps = 3_000): Explored {
  return new Schedule(seed, guards).run(steps);
}

class Schedule {
  private readonly random: Random;
  private readonly database = new Database();
  private readonly parties: Parties;
  private readonly acknowledged = new Map<number, number>();
  private readonly refused = new Set<number>();
  private readonly wrong: string[] = [];
  private unknown = 0;
  private ids = 0;

  constructor(
    seed: number,
    private readonly guards: Guards,
  ) {
    this.random = new Random(seed);
    this.parties = new Parties(this.random, { once: 15, longOnce: 4, short: 120 });
    for (let i = 0; i < 3; i++) this.parties.add(this.replica());
    for (let i = 0; i < 3; i++) this.parties.add(this.projector());
    for (let i = 0; i < 2; i++) this.parties.add(this.trimmer());
    this.parties.add(this.follower());
    this.parties.add(this.loader());
    this.parties.add(this.lister());
    this.parties.add(this.raiser());
  }

  run(steps: number): Explored {
    const { random, database } = this;
    for (let step = 0; step < steps; step++) {
      if (!random.once(3)) database.replicate();
      if (random.once(60)) database.failOver(random.once(3) ? random.below(3 * WINDOW) : 0);
      if (random.once(50)) database.pass(random.below(WINDOW));
      this.parties.advance(step, steps);
    }
    return {
      violations: [...database.violations, ...this.wrong, ...this.afterwards()],
      acknowledged: this.acknowledged.size,
      refused: this.refused.size,
      unknown: this.unknown,
      floor: database.settled.floor,
    };
  }

  private afterwards(): string[] {
    const { truth } = this.database;
    const lost = [...this.acknowledged].filter(([op, revision]) => truth[revision - 1]?.op !== op);
    const back = truth.filter(({ op }) => this.refused.has(op));
    return [
      ...lost.map(([op, revision]) => `write ${op} was acknowledged at ${revision}, and is not there`),
      ...back.map(({ op }) => `write ${op} was refused, and appeared`),
    ];
  }

  /** Takes writes, and appends them in batches. */
  private *replica(): Party {
    const known: Known = { states: new Map(), head: 0, moment: -WINDOW };
    for (;;) {
      yield* this.readOn(known);
      const wishes = Array.from({ length: 1 + this.random.below(3) }, () => ({
        op: ++this.ids,
        key: KEYS[this.random.below(this.random.once(8) ? KEYS.length : BUSY)] ?? '',
        expected: 0,
      }));
      for (const wish of wishes) wish.expected = revisionOf(known.states.get(wish.key));
      yield;
      for (let open = wishes; open.length > 0;) {
        const batch = this.batchOf(open, known);
        if (batch.writes.length === 0) break;
        const verdict = yield* this.commit(batch, known.moment);
        if (verdict === 'committed') {
          batch.writes.forEach(({ op }, i) => this.acknowledged.set(op, batch.first + i));
          this.parties.add(this.writer(batch));
        }
        if (verdict === 'unknown') this.unknown++;
        if (verdict !== 'anew') break;
        open = open.filter(({ op }) => batch.writes.some((write) => write.op === op));
        yield* this.readOn(known);
      }
    }
  }

  /** Returns a batch of the writes that fit the known states; the others are refused. */
  private batchOf(open: readonly { op: number; key: string; expected: number }[], known: Known): Batch {
    const writes: Write[] = [];
    const taken = new Set<string>();
    for (const { op, key, expected } of open) {
      const fits = !taken.has(key) && revisionOf(known.states.get(key)) === expected;
      if (fits) writes.push({ op, key, creates: expected === 0, deletes: expected !== 0 && op % 2 === 0 });
      else this.refused.add(op);
      taken.add(key);
    }
    return { id: ++this.ids, first: known.head + 1, writes, date: known.moment, projected: false };
  }

  /** Appends until the outcome is known. `moment` is when the batch's predecessor was the newest. */
  private *commit(batch: Batch, moment: number): Steps<Verdict> {
    // Read before the first attempt is sent, so that no attempt is older.
    const sent = this.database.settled.time;
    yield;
    for (let attempt = 1; ; attempt++) {
      const reply = yield* this.append(batch);
      if (reply === 'duplicate' && attempt === 1) return 'anew';
      if (typeof reply === 'number' && (!this.guards.fence || reply < moment + WINDOW / 2)) return 'committed';
      yield;
      const verdict = yield* this.settle(batch, sent);
      if (verdict !== 'again') return verdict;
      yield;
    }
  }

  /** Returns the time of the answer, or another outcome of the insert. */
  private *append(batch: Batch): Steps<number | 'duplicate' | 'lost'> {
    if (this.random.once(8)) {
      // The request is delayed, and the connection is given up meanwhile.
      this.parties.add(this.straggler(batch));
      return 'lost';
    }
    const ticket = this.database.insert(batch);
    if (ticket === undefined) return 'duplicate';
    if (!(yield* this.durable(ticket))) return 'lost';
    const { now } = this.database;
    yield;
    return this.random.once(5) ? 'lost' : now;
  }

  private *straggler(batch: Batch): Party {
    yield;
    this.database.insert(batch);
  }

  /** Reads the outcome of an append: first the document, then the floor. */
  private *settle(batch: Batch, sent: number): Steps<Verdict> {
    const found = this.database.settled.log.get(batch.first);
    yield;
    const { floor, time } = this.database.settled;
    if (batch.first <= floor) return !this.guards.admitsIgnorance || time < sent + WINDOW / 2 ? 'anew' : 'unknown';
    if (found === undefined) return 'again';
    return found.id === batch.id ? 'committed' : 'anew';
  }

  private *durable(ticket: Ticket): Steps<boolean> {
    while (this.database.outcome(ticket) === 'pending') yield;
    return this.database.outcome(ticket) === 'durable';
  }

  /** Applies the log from the head of a replica; loads from scratch if entries are missing. */
  private *readOn(known: Known): Steps<void> {
    yield;
    const read = this.database.settled;
    const batches = following(read, known.head);
    yield;
    const { floor } = this.database.settled;
    // Entries at or below the floor may have been trimmed, or may be void.
    const gone = this.guards.floorAfter ? floor > known.head : read.floor > known.head && batches.length === 0;
    if (gone) {
      yield* this.load(known);
      return;
    }
    for (const batch of batches) apply(known, batch);
    known.moment = read.time;
    this.check('a replica', known);
  }

  /** A read that is not linearizable may be from before an election. */
  private maybePast(): Version {
    return this.database.past(this.random.once(6) ? this.random.below(12) : 0);
  }

  /** Occasionally lets the log continue above a revision. */
  private *raiser(): Party {
    const { database, guards, random } = this;
    for (;;) {
      yield;
      if (!random.once(12)) continue;
      const newest = Math.max(0, ...[...database.settled.log.values()].map(endOf));
      const begun = database.now;
      yield;
      const first = Math.max(newest, database.settled.floor) + 1;
      const last = first + random.below(6);
      const gap: Batch = { id: ++this.ids, first, last, writes: [], date: begun, projected: true };
      const ticket = database.insert(gap);
      if (ticket === undefined || !(yield* this.durable(ticket))) continue;
      // After that, the revision may have been taken and trimmed.
      if (database.now >= begun + WINDOW / 2) continue;
      while (guards.settledFirst && projectedUpTo(database.settled) < last) yield;
      yield;
      yield* this.durable(database.write(({ base }) => ({ base: Math.max(base, last) })));
    }
  }

  /** Loads the projection, then the rest of the log. The projection is read in pieces, without a snapshot. */
  private *load(known: Known): Steps<void> {
    for (;;) {
      yield;
      const from = oldestOf(this.database.settled);
      known.states.clear();
      for (const key of KEYS) {
        yield;
        const state = this.database.settled.projection.get(key);
        if (state !== undefined) known.states.set(key, state);
      }
      yield;
      const read = this.database.settled;
      known.head = from;
      for (const batch of following(read, from)) apply(known, batch);
      yield;
      if (this.guards.loadsAnew && this.database.settled.floor > from) continue;
      known.moment = read.time;
      this.check('who loads', known);
      return;
    }
  }

  private check(who: string, { states, head }: Known): void {
    for (const key of KEYS) {
      const expected = revisionOf(this.database.truly(key, head));
      const shown = revisionOf(states.get(key));
      if (shown !== expected) this.wrong.push(`${who} has ${key} of ${shown} at ${head}, not of ${expected}`);
    }
  }

  private *loader(): Party {
    for (;;) yield* this.load({ states: new Map(), head: 0, moment: 0 });
  }

  /** Like a load, but in one snapshot, to which the log is applied from the first batch that was not known to be projected. */
  private *lister(): Party {
    for (;;) {
      yield;
      const from = projectedUpTo(this.database.settled);
      yield;
      const snapshot = this.maybePast();
      if (this.guards.notFromThePast && projectedUpTo(snapshot) < from) continue;
      const known: Known = { states: new Map(snapshot.projection), head: Math.max(from, snapshot.floor), moment: 0 };
      for (const batch of following(snapshot, known.head)) apply(known, batch);
      this.check('a list', known);
    }
  }

  /** Shows all events from its position. If they are gone, it continues from the floor. */
  private *follower(): Party {
    let position = 0;
    for (;;) {
      yield;
      const batches = following(this.maybePast(), position);
      yield;
      const oldest = oldestOf(this.database.settled);
      if (oldest > position && (this.guards.floorAfter || batches.length === 0)) {
        position = oldest;
        continue;
      }
      for (const batch of batches) {
        for (const { op } of batch.writes) {
          const expected = this.database.truth[position++]?.op;
          if (expected !== op) this.wrong.push(`a reader was shown write ${op} at ${position}, not ${expected}`);
        }
        position = endOf(batch);
      }
    }
  }

  /** Projects a committed batch. It may be delayed for any time, and another party projects the batch meanwhile. */
  private *writer(batch: Batch): Party {
    yield* this.project(batch);
  }

  /** Takes over batches that have not been projected for a while. */
  private *projector(): Party {
    const { database, guards } = this;
    for (;;) {
      yield;
      const waiting = [...database.settled.log.values()].filter(({ projected }) => !projected);
      const batch = waiting[this.random.below(Math.max(waiting.length, 1))];
      if (batch === undefined || !this.random.once(PATIENCE)) continue;
      yield;
      const early = database.settled.floor;
      if (guards.holds && !(yield* this.hold(batch))) continue;
      yield;
      const floor = guards.holdsFirst ? database.settled.floor : early;
      if (floor >= batch.first && guards.projectedFirst) {
        database.write(({ log }) => ({ log: changed(log, batch, undefined) }));
        continue;
      }
      yield* this.project(batch);
    }
  }

  private *hold({ writes }: Batch): Steps<boolean> {
    yield;
    return yield* this.durable(
      this.database.write(({ held }) => ({ held: new Set([...held, ...writes.map(({ key }) => key)]) })),
    );
  }

  private *project(batch: Batch): Steps<void> {
    const { database } = this;
    for (const [i, write] of batch.writes.entries()) {
      yield;
      const ticket = this.projectOne(write, batch.first + i);
      if (!(yield* this.durable(ticket))) return;
    }
    yield;
    database.write(({ log }) => ({ log: changed(log, batch, { ...batch, projected: true }) }));
  }

  /** A new object is inserted, which fails if a document exists; otherwise, as for all other writes, it replaces an older state. */
  private projectOne({ key, creates, deletes }: Write, revision: number): Ticket {
    const { database, guards } = this;
    return database.write(({ projection }) => {
      const there = projection.get(key);
      const isNewer = there !== undefined && there.revision >= revision;
      if (guards.onlyForward && isNewer) return {};
      if (guards.tombstones || !deletes)
        return { projection: new Map(projection).set(key, { revision, deleted: deletes }) };
      return creates ? {} : { projection: without(projection, key) };
    });
  }

  /** Trims everything that was seen projected a window ago. */
  private *trimmer(): Party {
    const { database } = this;
    let early: Version['held'] = new Set();
    for (;;) {
      yield;
      const { mark, floor, time } = database.settled;
      if (mark.revision <= floor) {
        early = database.settled.held;
        const next = this.trimmable(database.settled);
        yield;
        if (next.revision > floor) database.write((now) => (now.mark.revision < next.revision ? { mark: next } : {}));
        continue;
      }
      if (time < mark.moment + WINDOW) continue;
      yield;
      const ticket = database.write((now) => ({ floor: Math.max(now.floor, mark.revision) }));
      if (this.guards.floorFirst && !(yield* this.durable(ticket))) continue;
      const held = this.guards.heldAfter ? database.settled.held : early;
      for (const first of [...database.latest.log.keys()].filter((first) => first <= mark.revision)) {
        yield;
        database.write(({ log }) => ({ log: without(log, first) }));
      }
      for (const key of KEYS.filter((name) => !held.has(name))) {
        yield;
        database.write(({ projection }) => {
          const state = projection.get(key);
          const old = state !== undefined && state.deleted && state.revision <= mark.revision;
          return old ? { projection: without(projection, key) } : {};
        });
      }
    }
  }

  private trimmable(version: Version): Version['mark'] {
    let mark = { revision: version.floor, moment: version.time };
    for (const batch of following(version, version.floor)) {
      if (this.guards.projectedFirst && !batch.projected) break;
      mark = { revision: endOf(batch), moment: this.guards.marks ? version.time : batch.date };
    }
    return mark;
  }
}

/** Returns the revision up to which the log is complete, or trimmed, and projected. */
function projectedUpTo(version: Version): number {
  let upTo = oldestOf(version);
  for (const batch of following(version, version.floor)) {
    if (!batch.projected) break;
    upTo = Math.max(upTo, endOf(batch));
  }
  return upTo;
}

/** Events before this revision are not delivered. */
const oldestOf = ({ floor, base }: Version): number => Math.max(floor, base);

/** Returns the batches after a revision, up to the first that is missing. */
function following({ log }: Version, after: number): Batch[] {
  const batches: Batch[] = [];
  for (let batch = log.get(after + 1); batch !== undefined; batch = log.get(endOf(batch) + 1)) batches.push(batch);
  return batches;
}

function apply(known: Known, batch: Batch): void {
  batch.writes.forEach(({ key, deletes }, i) => {
    const revision = batch.first + i;
    if ((known.states.get(key)?.revision ?? 0) < revision) known.states.set(key, { revision, deleted: deletes });
  });
  known.head = endOf(batch);
}

/** Returns the revision of a state; 0 if the object does not exist. */
function revisionOf(state: State | undefined): number {
  return state === undefined || state.deleted ? 0 : state.revision;
}

function changed(log: Version['log'], { id, first }: Batch, to: Batch | undefined): Version['log'] {
  if (log.get(first)?.id !== id) return log;
  return to === undefined ? without(log, first) : new Map(log).set(first, to);
}

function without<K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> {
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}
