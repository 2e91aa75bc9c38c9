import type { Clock, Timer } from '../../../util/clock.js';
import { sleep } from '../../../util/clock.js';
import { StorageError } from '../../errors.js';
import type { Revision, WriteRequest, WriteResult } from '../../interfaces.js';
import { yieldNow } from '../../../scheduling/slicer.js';
import { unavailable } from '../connection/failures.js';
import type { LogFollower } from '../following/follower.js';
import type { BatchDocument } from '../documents.js';
import { laterOf, type Moment } from '../log/time.js';
import type { Projector } from '../projection/projector.js';
import type { CurrentStates } from '../reading/reader.js';
import { Turns } from './turns.js';
import { within } from '../connection/within.js';
import { WriteHealth } from './write-health.js';
import type { Appender, Inserted } from './appender.js';
import { Batch, type PendingWrite } from './batch.js';
import type { KnownStates } from '../following/known-states.js';
import { askFor, statesBefore } from './states-before.js';
import type { Writers } from './writers.js';

export interface CommitterOptions {
  readonly clock: Clock;
  readonly appender: Pick<Appender, 'insert' | 'judge' | 'moment'>;
  readonly follower: Pick<
    LogFollower,
    'revision' | 'moment' | 'take' | 'catchUp' | 'progress' | 'lastForeign' | 'lastForeignEntries'
  >;
  readonly known: KnownStates;
  readonly current: Pick<CurrentStates, 'read'>;
  readonly projector: Pick<Projector, 'hasRoom' | 'wake'>;
  readonly writers: Pick<Writers, 'claim' | 'claimed' | 'startOver'>;
  readonly writer: string;
  readonly historyMillis: number;
  readonly maxObjectBytes: number;
  /** How long a write is tried while MongoDB does not answer. */
  readonly writeMillis: number;
  /** No write succeeded for long; the commit path has begun anew. */
  startedOver(): void;
}

const MAX_BATCH_WRITES = 256;
const MAX_BATCH_BYTES = 4 << 20;
const MAX_WAITING = 20_000;
/** Attempts that follow one another without a pause: most trouble is over at once. */
const QUICK_ATTEMPTS = 3;
/** Pauses between attempts while MongoDB is away: they double from the first to the last one. */
const PAUSE_MILLIS = 20;
const MAX_PAUSE_MILLIS = 1_000;
/** Waits for what somebody else has committed: about as long as a commit takes, and longer each time. */
const BUSY_MILLIS = 5;
const MAX_BUSY_MILLIS = 50;
/** How often writes whose time is over are looked for while something is under way. */
const CHECK_MILLIS = 250;
/** No reading of the log or of states is waited for longer. */
const READ_MILLIS = 10_000;
/** Nor for the answer to an insert, which has to come from a majority. */
const ANSWER_MILLIS = 30_000;

const NO_ANSWER = 'MongoDB does not answer';
const BUSY = 'other servers were always faster';
const BEHIND = 'the projection is too far behind';
const NOT_TOLD = 'MongoDB did not tell whether the write was committed';

type Appended = Inserted & { readonly sent: Moment };

/** What is being committed. */
interface Handful {
  readonly writes: readonly PendingWrite[];
  /** Whether MongoDB may have been asked for the commit. */
  asked: boolean;
  /** What keeps it from being committed. */
  why: string;
}

const handful = (writes: readonly PendingWrite[]): Handful => ({ writes, asked: false, why: NO_ANSWER });

/** The single writer of a replica: takes all writes that wait, commits them together, and takes what gathered meanwhile. */
export class Committer {
  private readonly turns: Turns;
  private readonly health: WriteHealth;
  private waiting: PendingWrite[] = [];
  private inHand = handful([]);
  private checking: Timer | undefined;
  private stopped = false;
  private running: Promise<void> | undefined;
  private batches = 0;
  private own: Revision = 0;
  /** When the batch before the one that is being committed was the newest. */
  private head: Moment = NaN;
  /** When the head was last known to be the newest, or was about to be. */
  private fresh: { readonly now: number; readonly monotonic: number };
  /** What the commit path failed with since the last commit. */
  private trouble: unknown;

  constructor(private readonly options: CommitterOptions) {
    this.turns = new Turns(options);
    this.health = new WriteHealth(options.clock);
    this.fresh = timeOf(options.clock);
  }

  write(request: WriteRequest, raw?: Uint8Array): Promise<WriteResult> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length >= MAX_WAITING) {
        reject(new StorageError('unavailable', `${this.waiting.length} writes are waiting for the store already`));
        return;
      }
      const deadline = this.options.clock.monotonic() + this.options.writeMillis;
      this.waiting.push({ request, raw, deadline, resolve, reject });
      this.health.waits();
      this.running ??= this.run();
      this.check();
    });
  }

  /** Newest revision that this replica itself appended. */
  get acknowledged(): Revision {
    return this.own;
  }

  /** Whether writes get through. */
  state(): { readonly ok: boolean; readonly reason: string } {
    return this.health.state();
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.running !== undefined) await this.running;
  }

  /** Waits no longer: who still waits is told. */
  stop(): void {
    this.stopped = true;
    this.checking?.cancel();
    this.tellOverdue(Infinity);
  }

  /** Whoever writes is told in time, also while MongoDB keeps a question to itself. */
  private check(): void {
    this.checking ??= this.options.clock.setTimer(CHECK_MILLIS, () => {
      this.checking = undefined;
      if (this.running === undefined) return;
      this.tellOverdue(this.options.clock.monotonic());
      // Whatever the commit path waits for fails with its connections.
      if (this.health.isStuck()) {
        this.options.writers.startOver();
        this.options.startedOver();
      }
      this.check();
    });
  }

  private tellOverdue(now: number): void {
    this.expireWaiting(now);
    const { writes, asked, why } = this.inHand;
    for (const write of writes) {
      if (write.deadline > now) continue;
      this.health.gaveUp();
      write.reject(asked ? notTold(this.trouble) : tooLong(why, this.trouble));
    }
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0 && !this.stopped) {
      // The requests that came in with this turn of the event loop belong to one commit.
      await yieldNow();
      await this.turns.giveWay(this.own);
      const writes = this.takeSome();
      this.inHand = handful(writes);
      try {
        await this.settle(writes);
      } catch (error) {
        for (const write of writes) write.reject(unavailable(error));
      }
      this.inHand = handful([]);
    }
    this.health.idle();
    // In the same step as the last look at the queue: a write that comes later starts anew.
    this.running = undefined;
  }

  private takeSome(): PendingWrite[] {
    let bytes = 0;
    let count = 0;
    while (count < this.waiting.length && count < MAX_BATCH_WRITES && bytes < MAX_BATCH_BYTES) {
      const { value, previous } = this.waiting[count]?.request ?? {};
      bytes += (value?.sealed?.length ?? value?.tail.length ?? 0) + (previous?.bytes.length ?? 0);
      count++;
    }
    return this.waiting.splice(0, count);
  }

  /** Commits writes, or finds out why they cannot be. Each of them is told in the end. */
  private async settle(writes: readonly PendingWrite[]): Promise<void> {
    const { clock, projector } = this.options;
    let pending = writes;
    for (let attempt = 0; pending.length > 0 && !this.stopped; attempt++) {
      const begun = clock.monotonic();
      if (!projector.hasRoom) {
        this.inHand.why = BEHIND;
        pending = await this.pauseOrGiveUp(pending, attempt, BEHIND);
        continue;
      }
      let batch: Batch;
      try {
        batch = await this.build(pending);
      } catch (error) {
        pending = await this.pauseOrGiveUp(pending, attempt, error);
        continue;
      }
      const inBatch = this.expire(batch.writes, NO_ANSWER);
      // Those that were told of their failure must not be written.
      if (inBatch.length < batch.writes.length || batch.events.length === 0) {
        pending = [...inBatch, ...batch.rest];
        continue;
      }
      const result = await this.append(batch);
      if (result.outcome === 'stale') this.turns.lost(clock.monotonic() - begun);
      pending = [...(await this.goOn(batch, result, attempt)), ...batch.rest];
    }
  }

  /** After an append: the writes that are still to be committed. */
  private async goOn(batch: Batch, result: Appended, attempt: number): Promise<readonly PendingWrite[]> {
    const pending = batch.writes;
    switch (result.outcome) {
      case 'committed':
        this.commit(batch, result.sent);
        return [];
      case 'stale':
        this.inHand.why = BUSY;
        await this.awaitOthers(attempt);
        return this.expire(pending, BUSY);
      case 'refused':
        await this.isolate(pending, result.error);
        return [];
      case 'unsent':
        return this.pauseOrGiveUp(pending, attempt, result.error);
      case 'unknown':
        this.health.gaveUp();
        for (const write of pending) write.reject(notTold(result.error));
        // Whoever comes next goes on from the present state.
        await this.read(this.options.follower.catchUp()).catch(() => undefined);
        return [];
    }
  }

  private async build(pending: readonly PendingWrite[]): Promise<Batch> {
    const { follower, known, writer, clock, maxObjectBytes } = this.options;
    await this.refresh();
    const question = askFor(pending, this.options);
    const found = question && (await this.read(question));
    // From here on in one step: the states are those at the revision that the batch follows.
    const batch = new Batch({
      base: follower.revision,
      states: statesBefore(pending, known, found),
      writer,
      number: ++this.batches,
      time: new Date(clock.now()),
      maxObjectBytes,
    });
    for (const write of pending) batch.add(write);
    this.head = follower.moment;
    return batch;
  }

  /** Who has slept knows an old head: what it appended there might be void, and nobody could tell. No clock decides about that, this only helps. */
  private async refresh(): Promise<void> {
    const { clock, follower, historyMillis } = this.options;
    const time = timeOf(clock);
    const age = Math.max(time.now - this.fresh.now, time.monotonic - this.fresh.monotonic);
    if (age > historyMillis / 2) await this.read(follower.catchUp());
    this.fresh = time;
  }

  /** By rules 1 to 3 of docs/design/mongodb-log.md. */
  private async append(batch: Batch): Promise<Appended> {
    const { inHand, options, head } = this;
    const { appender, clock, writeMillis } = options;
    const { document } = batch;
    // Known before the first attempt is sent, so that no attempt is older.
    const sent = laterOf(appender.moment, head);
    inHand.asked = true;
    try {
      const end = clock.monotonic() + writeMillis;
      let inserted = await this.insert(document);
      if (inserted.outcome !== 'unknown') return { ...inserted, sent };
      for (let attempt = 0; clock.monotonic() < end && !this.stopped; attempt++) {
        this.trouble = inserted.error;
        const verdict = await this.read(appender.judge(document, sent)).catch(
          (error: unknown) => void (this.trouble = error),
        );
        if (verdict === 'committed' || verdict === 'stale') return { outcome: verdict, sent };
        if (verdict === 'lost') break;
        if (verdict === 'absent') {
          const again = await this.insert(document);
          if (again.outcome === 'committed') return { ...again, sent };
          if (again.outcome === 'unknown') inserted = again;
        }
        this.expireWaiting();
        await this.pause(attempt);
      }
      return { outcome: 'unknown', error: this.trouble, sent };
    } finally {
      inHand.asked = false;
    }
  }

  private commit(batch: Batch, sent: Moment): void {
    const { follower, projector } = this.options;
    this.own = Math.max(this.own, batch.last);
    this.health.succeeded();
    this.trouble = undefined;
    this.turns.won();
    // It followed the newest known revision; where it is known already, the log or the change stream told it first.
    follower.take(batch.followed, sent);
    projector.wake();
    batch.resolve();
  }

  /** Reads have an end, whatever becomes of the driver's. */
  private read<T>(answer: Promise<T>): Promise<T> {
    return within(this.options.clock, READ_MILLIS, answer);
  }

  /** An insert whose answer nobody waits for any longer may still succeed. */
  private async insert(document: BatchDocument): Promise<Inserted> {
    const { appender, clock } = this.options;
    const answer = appender.insert(document, this.head);
    return within(clock, ANSWER_MILLIS, answer).catch((error: unknown) => ({ outcome: 'unknown', error }));
  }

  /** Another replica has appended. */
  private async awaitOthers(attempt: number): Promise<void> {
    const { follower } = this.options;
    const { revision } = follower;
    if (attempt >= QUICK_ATTEMPTS)
      await follower.progress(revision, Math.min(BUSY_MILLIS * (attempt + 1), MAX_BUSY_MILLIS));
    if (follower.revision === revision) await follower.catchUp().catch(() => undefined);
  }

  /** MongoDB refuses a batch: alone, it tells which write it means. */
  private async isolate(pending: readonly PendingWrite[], error: unknown): Promise<void> {
    if (pending.length === 1) for (const write of pending) write.reject(unavailable(error));
    else for (const write of pending) await this.settle([write]);
  }

  private async pauseOrGiveUp(
    pending: readonly PendingWrite[],
    attempt: number,
    error: unknown,
  ): Promise<readonly PendingWrite[]> {
    this.trouble = error;
    this.expireWaiting();
    const left = this.expire(pending, error);
    if (left.length > 0) await this.pause(attempt);
    return left;
  }

  /** Tells the writes whose time is over; returns the others. */
  private expire(
    pending: readonly PendingWrite[],
    cause: unknown,
    now = this.options.clock.monotonic(),
  ): readonly PendingWrite[] {
    const overdue = pending.filter((write) => write.deadline <= now);
    if (overdue.length === 0) return pending;
    this.health.gaveUp();
    const failure = typeof cause === 'string' ? tooLong(cause, this.trouble) : unavailable(cause);
    for (const write of overdue) write.reject(failure);
    return pending.filter((write) => write.deadline > now);
  }

  private expireWaiting(now = this.options.clock.monotonic()): void {
    const left = this.expire(this.waiting, NO_ANSWER, now);
    if (left !== this.waiting) this.waiting = [...left];
  }

  private pause(attempt: number): Promise<void> {
    if (attempt < QUICK_ATTEMPTS) return yieldNow();
    return sleep(this.options.clock, Math.min(PAUSE_MILLIS * 2 ** (attempt - QUICK_ATTEMPTS), MAX_PAUSE_MILLIS));
  }
}

const timeOf = (clock: Clock): { readonly now: number; readonly monotonic: number } => ({
  now: clock.now(),
  monotonic: clock.monotonic(),
});

function tooLong(why: string, cause: unknown): StorageError {
  return new StorageError('unavailable', `the store could not write for too long (${why})`, { cause });
}

function notTold(cause: unknown): StorageError {
  return new StorageError('unknown-outcome', NOT_TOLD, { cause });
}
