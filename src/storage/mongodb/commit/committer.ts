import { sleep, type Clock, type Timer } from '../../../util/clock.js';
import { StorageError } from '../../errors.js';
import type { Health, Revision, WriteRequest, WriteResult } from '../../interfaces.js';
import { yieldNow } from '../../../scheduling/slicer.js';
import { unavailable } from '../connection/failures.js';
import type { LogFollower } from '../following/follower.js';
import type { BatchDocument } from '../documents.js';
import { laterOf, type Moment } from '../log/time.js';
import type { Projector } from '../projection/projector.js';
import type { CurrentStates } from '../reading/reader.js';
import { Turns } from './turns.js';
import { withTimeout } from '../../../util/with-timeout.js';
import { WriteHealth } from './write-health.js';
import { hasWaited, type StoreOutage } from '../../outage.js';
import type { Appender, Inserted } from './appender.js';
import { Batch, type PendingWrite } from './batch.js';
import { HeadFreshness } from './head-freshness.js';
import type { KnownStates } from '../following/known-states.js';
import { readMissingStates, statesBefore } from './states-before.js';
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
  /** How long a write is retried while MongoDB does not respond, in milliseconds. */
  readonly writeMillis: number;
  /** Tells whether MongoDB is away. */
  readonly outage?: Pick<StoreOutage, 'age'> | undefined;
  /** Called when no write succeeded for a long time, after the commit path was restarted. */
  onStartOver(): void;
}

const MAX_BATCH_WRITES = 256;
const MAX_BATCH_BYTES = 4 << 20;
const MAX_WAITING = 20_000;
/** The number of attempts without a pause: most problems are over immediately. */
const QUICK_ATTEMPTS = 3;
/** The shortest and the longest pause between attempts while MongoDB is down. Pauses double. */
const PAUSE_MILLIS = 20;
const MAX_PAUSE_MILLIS = 1_000;
/** The shortest and the longest wait for commits of other replicas: about as long as a commit takes, and longer each time. */
const BUSY_MILLIS = 5;
const MAX_BUSY_MILLIS = 50;
/** The interval at which overdue writes are rejected while something is in progress. */
const CHECK_MILLIS = 250;
/** The maximum time of reading the log or states. */
const READ_MILLIS = 10_000;
/** The maximum time of an insert, which a majority must acknowledge. */
const ANSWER_MILLIS = 30_000;

const NO_ANSWER = 'MongoDB does not answer';
const BUSY = 'other servers kept committing first';
const BEHIND = 'the projection is too far behind';
const UNKNOWN_OUTCOME = 'MongoDB did not report whether the write was committed';

type Appended = Inserted & { readonly sent: Moment };

/** The writes that are being committed. */
interface InFlightWrites {
  readonly writes: readonly PendingWrite[];
  /** True if the commit may have been sent to MongoDB. */
  isSent: boolean;
  /** The reason why it is not committed yet. */
  waitReason: string;
}

const newInFlight = (writes: readonly PendingWrite[]): InFlightWrites => ({
  writes,
  isSent: false,
  waitReason: NO_ANSWER,
});

/** The single writer of a replica: takes all waiting writes, commits them together, and then takes those that arrived in the meantime. */
export class Committer {
  private readonly turns: Turns;
  private readonly health: WriteHealth;
  private waiting: PendingWrite[] = [];
  private inFlight = newInFlight([]);
  private checking: Timer | undefined;
  private stopped = false;
  private running: Promise<void> | undefined;
  private batches = 0;
  private own: Revision = 0;
  /** A time when the batch before the one being committed was the newest. */
  private head: Moment = NaN;
  private readonly freshness: HeadFreshness;
  /** The error of the commit path since the last commit, if any. */
  private trouble: unknown;

  constructor(private readonly options: CommitterOptions) {
    this.turns = new Turns(options);
    this.health = new WriteHealth(options.clock);
    const { clock, historyMillis, follower } = options;
    this.freshness = new HeadFreshness(clock, historyMillis / 2, () => this.read(follower.catchUp()));
  }

  write(request: WriteRequest): Promise<WriteResult> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length >= MAX_WAITING) {
        reject(new StorageError('unavailable', `${this.waiting.length} writes are already waiting for the store`));
        return;
      }
      const since = this.options.clock.monotonic();
      this.waiting.push({ request, since, deadline: since + this.options.writeMillis, resolve, reject });
      this.health.waits();
      this.running ??= this.run();
      this.check();
    });
  }

  /** The newest revision that this replica itself has appended. */
  get acknowledged(): Revision {
    return this.own;
  }

  /** Reports whether writes succeed. */
  state(): Health {
    return this.health.state(this.options.outage?.age);
  }

  /** Resolves when no write is in progress. */
  async idle(): Promise<void> {
    while (this.running !== undefined) await this.running;
  }

  /** Stops, and rejects the writes that still wait. */
  stop(): void {
    this.stopped = true;
    this.checking?.cancel();
    this.rejectOverdue(Infinity);
  }

  /** Rejects overdue writes in time, even while MongoDB does not answer. */
  private check(): void {
    this.checking ??= this.options.clock.setTimer(CHECK_MILLIS, () => {
      this.checking = undefined;
      if (this.running === undefined) return;
      const now = this.options.clock.monotonic();
      this.withdraw(now);
      this.rejectOverdue(now);
      // All pending operations of the commit path fail with its connections.
      if (this.health.isStuck()) {
        this.options.writers.startOver();
        this.options.onStartOver();
      }
      this.check();
    });
  }

  /** During an outage, brings forward the deadline of writes that were not sent: they are certainly not committed. */
  private withdraw(now: number): void {
    const { outage } = this.options;
    if (outage?.age === undefined) return;
    const unsent = this.inFlight.isSent ? this.waiting : [...this.inFlight.writes, ...this.waiting];
    for (const write of unsent) if (hasWaited(outage, write.since, now)) write.deadline = Math.min(write.deadline, now);
  }

  private rejectOverdue(now: number): void {
    this.expireWaiting(now);
    const { writes, isSent, waitReason } = this.inFlight;
    for (const write of writes) {
      if (write.deadline > now) continue;
      this.health.gaveUp();
      write.reject(isSent ? unknownOutcomeError(this.trouble) : tooLong(waitReason, this.trouble));
    }
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0 && !this.stopped) {
      // Requests of the same turn of the event loop share a commit.
      await yieldNow();
      await this.turns.giveWay(this.own);
      const writes = this.takeSome();
      this.inFlight = newInFlight(writes);
      try {
        await this.settle(writes);
      } catch (error) {
        for (const write of writes) write.reject(unavailable(error));
      }
      this.inFlight = newInFlight([]);
    }
    this.health.idle();
    // In the same step as the last check of the queue: a later write starts a new run.
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

  /** Commits writes, or finds out why they cannot be committed. Every write is settled in the end. */
  private async settle(writes: readonly PendingWrite[]): Promise<void> {
    const { clock, projector } = this.options;
    let pending = writes;
    for (let attempt = 0; pending.length > 0 && !this.stopped; attempt++) {
      const begun = clock.monotonic();
      if (!projector.hasRoom) {
        this.inFlight.waitReason = BEHIND;
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
      // Writes that were rejected as overdue must not be committed.
      if (inBatch.length < batch.writes.length || batch.events.length === 0) {
        pending = [...inBatch, ...batch.rest];
        continue;
      }
      const result = await this.append(batch);
      if (result.outcome === 'stale') this.turns.lost(clock.monotonic() - begun);
      pending = [...(await this.handleResult(batch, result, attempt)), ...batch.rest];
    }
  }

  /** Handles the result of an append; returns the writes that are still to be committed. */
  private async handleResult(batch: Batch, result: Appended, attempt: number): Promise<readonly PendingWrite[]> {
    const pending = batch.writes;
    switch (result.outcome) {
      case 'committed':
        this.commit(batch, result.sent);
        return [];
      case 'stale':
        this.inFlight.waitReason = BUSY;
        await this.awaitOthers(attempt);
        return this.expire(pending, BUSY);
      case 'refused':
        await this.isolate(pending, result.error);
        return [];
      case 'unsent':
        return this.pauseOrGiveUp(pending, attempt, result.error);
      case 'unknown':
        this.health.gaveUp();
        for (const write of pending) write.reject(unknownOutcomeError(result.error));
        // Later writes continue from the current state.
        await this.read(this.options.follower.catchUp()).catch(() => undefined);
        return [];
    }
  }

  private async build(pending: readonly PendingWrite[]): Promise<Batch> {
    const { follower, known, writer, clock, maxObjectBytes } = this.options;
    await this.freshness.ensure();
    const question = readMissingStates(pending, this.options);
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

  /** Appends by rules 1 to 3 of docs/design/mongodb-log.md. */
  private async append(batch: Batch): Promise<Appended> {
    const { inFlight, options, head } = this;
    const { appender, clock, writeMillis } = options;
    const { document } = batch;
    // Determined before the first attempt is sent, so that no attempt is older.
    const sent = laterOf(appender.moment, head);
    inFlight.isSent = true;
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
      inFlight.isSent = false;
    }
  }

  private commit(batch: Batch, sent: Moment): void {
    const { follower, projector } = this.options;
    this.own = Math.max(this.own, batch.last);
    this.health.succeeded();
    this.trouble = undefined;
    this.turns.won();
    // The batch follows the newest known revision. If it is known already, the log or the change stream delivered it first.
    follower.take(batch.followed, sent);
    projector.wake();
    batch.resolve();
  }

  /** Limits the time of a read, whatever limit the driver has. */
  private read<T>(answer: Promise<T>): Promise<T> {
    return withTimeout(this.options.clock, READ_MILLIS, answer);
  }

  /** Inserts with a time limit. An insert that exceeds it may still succeed. */
  private async insert(document: BatchDocument): Promise<Inserted> {
    const { appender, clock } = this.options;
    const answer = appender.insert(document, this.head);
    return withTimeout(clock, ANSWER_MILLIS, answer).catch((error: unknown) => ({ outcome: 'unknown', error }));
  }

  /** Waits for the batch that another replica has appended. */
  private async awaitOthers(attempt: number): Promise<void> {
    const { follower } = this.options;
    const { revision } = follower;
    if (attempt >= QUICK_ATTEMPTS)
      await follower.progress(revision, Math.min(BUSY_MILLIS * (attempt + 1), MAX_BUSY_MILLIS));
    if (follower.revision === revision) await follower.catchUp().catch(() => undefined);
  }

  /** Retries the writes of a refused batch one by one, to find out which one MongoDB refuses. */
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

  /** Rejects the overdue writes; returns the others. */
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

function tooLong(why: string, cause: unknown): StorageError {
  return new StorageError('unavailable', `the write was not committed in time (${why})`, { cause });
}

function unknownOutcomeError(cause: unknown): StorageError {
  return new StorageError('unknown-outcome', UNKNOWN_OUTCOME, { cause });
}
