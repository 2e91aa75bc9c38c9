import type { Collection } from 'mongodb';
import type { Clock, Timer } from '../../../util/clock.js';
import { sleep } from '../../../util/clock.js';
import { StorageError } from '../../errors.js';
import type { Revision, WriteRequest, WriteResult } from '../../interfaces.js';
import { yieldNow } from '../../../scheduling/slicer.js';
import type { Appender, AppendOutcome } from './appender.js';
import { Batch, type PendingWrite } from './batch.js';
import { entriesOf, type LogDocument, type LogPlace } from '../documents.js';
import { unavailable } from '../failures.js';
import type { LogFollower } from '../follower.js';
import { headId, type Heads } from '../heads.js';
import { statesBefore } from './states-before.js';
import type { WriterSession } from './writer-session.js';
import { Turns } from '../turns.js';
import { within } from '../within.js';
import { WriteHealth } from '../write-health.js';

export interface CommitterOptions {
  readonly place: LogPlace;
  readonly clock: Clock;
  readonly appender: Appender;
  readonly follower: LogFollower;
  readonly heads: Heads;
  readonly session: WriterSession;
  readonly writer: string;
  readonly maxObjectBytes: number;
  /** How long a write is tried while MongoDB does not answer. */
  readonly writeMillis: number;
  /** No write succeeded for long; the commit path has begun anew. */
  startedOver(): void;
  /** Makes the collection of a type where there is none yet. */
  ensureCollection(resource: string): Promise<void>;
}

const MAX_BATCH_WRITES = 256;
const MAX_BATCH_BYTES = 4 << 20;
const MAX_WAITING = 20_000;
/** Attempts that follow one another without a pause: most trouble is over at once. */
const QUICK_ATTEMPTS = 3;
/** Pauses between attempts while MongoDB is away: they double from the first to the last one. */
const PAUSE_MILLIS = 20;
const MAX_PAUSE_MILLIS = 1_000;
/** Waits for a commit of somebody else's that is under way: about as long as one takes, and longer each time. */
const BUSY_MILLIS = 5;
const MAX_BUSY_MILLIS = 50;
/** How often writes whose time is over are looked for while something is under way. */
const CHECK_MILLIS = 250;
/** So long nobody appends anything though somebody is about to: a transaction whose client is gone. */
const STUCK_MILLIS = 1_500;
/** No reading of the log or of states is waited for longer. */
const READ_MILLIS = 10_000;

const NO_ANSWER = 'MongoDB does not answer';
const BUSY = 'other servers were always faster';
const NOT_TOLD = 'MongoDB did not tell whether the write was committed';

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
  private readonly log: Collection<LogDocument>;
  private readonly turns: Turns;
  private readonly health: WriteHealth;
  private waiting: PendingWrite[] = [];
  private inHand = handful([]);
  private checking: Timer | undefined;
  private stopped = false;
  private running: Promise<void> | undefined;
  private batches = 0;
  /** Batches are made without the form for people until one succeeds: MongoDB refused one with it. */
  private bare = false;
  private own: Revision = 0;
  /** What the commit path failed with since the last commit. */
  private trouble: unknown;

  constructor(private readonly options: CommitterOptions) {
    this.log = entriesOf(options.place);
    this.turns = new Turns(options);
    this.health = new WriteHealth(options.clock);
  }

  write(request: WriteRequest, raw?: Uint8Array): Promise<WriteResult> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length >= MAX_WAITING) {
        reject(new StorageError('unavailable', `${this.waiting.length} writes are waiting for the store already`));
        return;
      }
      const deadline = this.options.clock.monotonic() + this.options.writeMillis;
      this.waiting.push({ request, raw, deadline, verify: false, resolve, reject });
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
        this.options.session.startOver();
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
    const { clock, follower } = this.options;
    let pending = writes;
    /** When the newest known revision was last another one. */
    let since = { revision: follower.revision, time: clock.monotonic() };
    for (let attempt = 0; pending.length > 0 && !this.stopped; attempt++) {
      const begun = clock.monotonic();
      let batch: Batch;
      try {
        batch = await this.build(pending);
      } catch (error) {
        pending = await this.pauseOrGiveUp(pending, attempt, error);
        continue;
      }
      pending = this.expire(batch.writes, NO_ANSWER);
      // Those that were told of their failure must not be written.
      if (pending.length < batch.writes.length) continue;
      if (pending.length === 0) return;
      const result = await this.append(batch);
      if (result.outcome === 'stale' || result.outcome === 'busy') this.turns.lost(clock.monotonic() - begun);
      pending = await this.goOn(batch, result, attempt);
      if (follower.revision !== since.revision || pending.length === 0) {
        since = { revision: follower.revision, time: clock.monotonic() };
      } else if (result.outcome === 'busy' && clock.monotonic() - since.time > STUCK_MILLIS) {
        since = { ...since, time: clock.monotonic() };
        await this.options.session.endOthers().catch(() => undefined);
      }
    }
  }

  /** After an append: the writes that are still to be committed. */
  private async goOn(batch: Batch, result: AppendOutcome, attempt: number): Promise<readonly PendingWrite[]> {
    const { follower } = this.options;
    const pending = batch.writes;
    switch (result.outcome) {
      case 'committed':
        this.commit(batch);
        return [];
      case 'unknown':
        if (await this.found(batch, result.error)) return [];
        break;
      case 'stale':
      case 'busy':
        this.inHand.why = BUSY;
        await this.awaitOthers(attempt, result.outcome === 'busy');
        break;
      case 'overtaken':
        await follower.overtaken().catch(() => this.pause(attempt));
        break;
      case 'mismatch':
        this.distrust(pending);
        await follower.catchUp().catch(() => undefined);
        break;
      case 'refused':
        if (!(await this.isolate(pending, result.error))) return [];
        break;
      case 'unreachable':
        return this.pauseOrGiveUp(pending, attempt, result.error);
      case 'withheld':
        return this.expire(pending, NO_ANSWER);
    }
    return this.expire(pending, this.inHand.why);
  }

  private async append(batch: Batch): Promise<AppendOutcome> {
    const { inHand, options } = this;
    try {
      return await options.appender.append(batch, () => {
        const now = options.clock.monotonic();
        // Those that were told of their failure must not be written.
        inHand.asked = !this.stopped && batch.writes.every(({ deadline }) => deadline > now);
        return inHand.asked;
      });
    } finally {
      inHand.asked = false;
    }
  }

  private async build(pending: readonly PendingWrite[]): Promise<Batch> {
    const { follower, heads, writer, clock, maxObjectBytes } = this.options;
    for (const resource of new Set(pending.map((write) => write.request.resource)))
      await this.read(this.options.ensureCollection(resource));
    const found = await this.read(statesBefore(pending, this.options));
    const batch = new Batch({
      base: follower.revision,
      heads,
      found,
      writer,
      number: ++this.batches,
      time: new Date(clock.now()),
      maxObjectBytes,
      bare: this.bare,
    });
    for (const write of pending) batch.add(write);
    return batch;
  }

  private commit(batch: Batch): void {
    const { follower } = this.options;
    const last = batch.events.at(-1)?.revision ?? 0;
    this.own = Math.max(this.own, last);
    this.bare = false;
    this.health.succeeded();
    this.trouble = undefined;
    this.turns.won();
    // It followed the newest known revision; where it is known already, the log or the change stream told it first.
    follower.take(batch.events);
    batch.resolve();
  }

  private async found(batch: Batch, cause: unknown): Promise<boolean> {
    const { inHand } = this;
    inHand.asked = true;
    try {
      return await this.decide(batch, cause);
    } finally {
      inHand.asked = false;
    }
  }

  /**
   * The answer to a commit was lost. The log's entry at its first revision tells what became of it; as long as there is none,
   * the very same batch is appended again, which cannot succeed twice. True when the writes have been told; false: they were
   * not committed, now or later.
   */
  private async decide(batch: Batch, cause: unknown): Promise<boolean> {
    const { clock, appender, follower, writer, writeMillis } = this.options;
    const end = clock.monotonic() + writeMillis;
    this.trouble = cause;
    for (let attempt = 0; clock.monotonic() < end && !this.stopped; attempt++) {
      try {
        const entry = await this.read(this.log.findOne({ _id: batch.first }));
        if (entry !== null) {
          const isOwn = entry.writer === writer && entry.batch === batch.number;
          if (isOwn) this.commit(batch);
          return isOwn;
        }
        const result = await appender.append(batch, () => true);
        if (result.outcome === 'committed') {
          this.commit(batch);
          return true;
        }
        if (result.outcome === 'mismatch') {
          // The states change only with an entry, and there is none: the first attempt failed in the same way, or will.
          this.distrust(batch.writes);
          return false;
        }
        if (result.outcome === 'overtaken') {
          // Its entry may have been there. Whoever comes next goes on from the present state.
          await follower.overtaken();
          break;
        }
        if ('error' in result) this.trouble = result.error;
      } catch (failure) {
        this.trouble = failure;
      }
      this.expireWaiting();
      await this.pause(attempt);
    }
    this.health.gaveUp();
    for (const write of batch.writes) write.reject(notTold(this.trouble));
    return true;
  }

  /** Reads have an end, whatever becomes of the driver's. */
  private read<T>(answer: Promise<T>): Promise<T> {
    return within(this.options.clock, READ_MILLIS, answer);
  }

  /** Another replica has appended, or is about to. */
  private async awaitOthers(attempt: number, busy: boolean): Promise<void> {
    const { follower } = this.options;
    const { revision } = follower;
    // Somebody's commit is under way: the change stream tells of its end.
    if (busy || attempt >= QUICK_ATTEMPTS)
      await follower.progress(revision, Math.min(BUSY_MILLIS * (attempt + 1), MAX_BUSY_MILLIS));
    if (follower.revision === revision) await follower.catchUp().catch(() => undefined);
  }

  /** What was known of these objects is wrong. */
  private distrust(pending: readonly PendingWrite[]): void {
    for (const write of pending) {
      this.options.heads.forget(headId(write.request.resource, write.request.key));
      write.verify = true;
    }
  }

  /** MongoDB refuses a batch: without the form for people, and alone, it tells which write it means. False: the writes were told. */
  private async isolate(pending: readonly PendingWrite[], error: unknown): Promise<boolean> {
    if (!this.bare) {
      this.bare = true;
      return true;
    }
    if (pending.length === 1) {
      for (const write of pending) write.reject(unavailable(error));
      this.bare = false;
      return false;
    }
    for (const write of pending) await this.settle([write]);
    return false;
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

function tooLong(why: string, cause: unknown): StorageError {
  return new StorageError('unavailable', `the store could not write for too long (${why})`, { cause });
}

function notTold(cause: unknown): StorageError {
  return new StorageError('unknown-outcome', NOT_TOLD, { cause });
}
