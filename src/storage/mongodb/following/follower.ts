import type { ClientSession, Document, MongoClient, Timestamp } from 'mongodb';
import { sleep, type Clock } from '../../../util/clock.js';
import { compacted, StorageError } from '../../errors.js';
import { contiguousAfter, EventFeed } from '../../event-feed.js';
import { HEALTHY, type EncodedObject, type Health, type LogEvent, type Revision } from '../../interfaces.js';
import type { KnownStates } from './known-states.js';
import { eventsOf, type BatchDocument, type LogPlace } from '../documents.js';
import { closed, isTokenLost, unavailable } from '../connection/failures.js';
import { batchesAfter, firstOf, readFloor, readOldest, type Head } from '../log/read.js';
import { isWithin, momentOf, type Moment } from '../log/time.js';
import type { Backlog } from './backlog.js';
import { withTimeout } from '../../../util/with-timeout.js';

export interface FollowerOptions {
  readonly client: MongoClient;
  readonly place: LogPlace;
  readonly clock: Clock;
  readonly known: KnownStates;
  readonly backlog: Backlog;
  /** The revision to start from: all batches at or before it are projected. */
  readonly revision: Revision;
  /** The batch at that revision if it is the newest one. */
  readonly head: Head | undefined;
  /** The id of this replica. Its own batches come from its commits, not from the change stream. */
  readonly writer: string;
  readonly historyMillis: number;
  /** Returns the oldest revision that is kept. */
  oldest(): Revision;
  /** Called when events up to a revision are no longer delivered. */
  onCompacted(revision: Revision): void;
  /** Called when the collection of the log, of which something was known, was dropped or renamed. */
  onDropped(): void;
  /** Called when the change stream failed. */
  failed(error: unknown): void;
}

/** The number of batches read at once. */
const READ_AHEAD = 50;
/** The maximum time of reading the log. */
const READ_MILLIS = 10_000;
const STREAM_BATCH = 500;
const AWAIT_MILLIS = 1_000;
const RETRY_MILLIS = 50;
const MAX_RETRY_MILLIS = 2_000;
/** A change stream that does not respond for this long is broken. */
const SILENT_MILLIS = 10_000;
/** A resume token is dropped after this many failures in a row. */
const TOKEN_ATTEMPTS = 3;

/** How far a log has been followed. */
export interface Position {
  readonly head: Head | undefined;
  readonly revision: Revision;
  readonly taken: number;
  readonly holes: number;
}

/** A committed batch. */
export interface Followed extends Head {
  readonly events: readonly LogEvent[];
  /** The written values, if this replica itself learned of the commit. */
  readonly values?: readonly (EncodedObject | undefined)[];
}

/**
 * Knows the log up to some revision and follows it from there without a gap: by this replica's commits, by the change stream for batches of
 * other replicas, and by reading the log itself wherever those two leave something out.
 */
export class LogFollower {
  private readonly stopping = new AbortController();
  private feed: EventFeed;
  private reading: Promise<void> | undefined;
  private following: Promise<void> | undefined;
  private readonly waiters = new Set<() => void>();
  private foreign = -Infinity;
  private foreignEntries = 0;
  private newest: Head | undefined;
  /** The number of batches taken, and of holes before them: between two holes, the log has every batch. */
  private readonly counts = { taken: 0, holes: 0 };
  private at: Moment = NaN;
  /** The reason why the change stream failed; empty while it runs. */
  private trouble = '';
  /** When the change stream last responded, in monotonic milliseconds. */
  private lastResponseAt: number;

  constructor(private readonly options: FollowerOptions) {
    this.feed = this.newFeed(options.revision);
    this.newest = options.head;
    this.lastResponseAt = options.clock.monotonic();
  }

  /** The newest known batch; undefined until one is known. */
  get head(): Head | undefined {
    return this.newest;
  }

  /** The newest known batch, and how many were taken before it. */
  get position(): Position {
    const { newest: head, revision, counts } = this;
    return { head, revision, ...counts };
  }

  /** A time when nothing after the newest known revision had been committed yet. */
  get moment(): Moment {
    return this.at;
  }

  get revision(): Revision {
    return this.feed.revision;
  }

  /** When another replica's entry was last seen, in monotonic milliseconds. */
  get lastForeign(): number {
    return this.foreign;
  }

  /** The number of entries of other replicas that arrived then: a measure of how much they have to write. */
  get lastForeignEntries(): number {
    return this.foreignEntries;
  }

  /** Reports whether batches of other replicas are being received. */
  health(): Health {
    if (this.trouble !== '') return { ok: false, reason: this.trouble };
    const silent = this.options.clock.monotonic() - this.lastResponseAt;
    if (silent < SILENT_MILLIS) return HEALTHY;
    return { ok: false, reason: `the change stream has been silent for ${Math.round(silent / 1000)} s` };
  }

  start(): void {
    this.following = this.follow();
  }

  /** Stops, and ends all readers with an error. */
  async stop(error = closed()): Promise<void> {
    this.stopping.abort();
    this.feed.end(error);
    this.wake();
    await this.following;
  }

  /** Returns the events after a revision, for any number of readers. */
  events(after: Revision, signal: AbortSignal): AsyncIterable<readonly LogEvent[]> {
    return this.feed.read(after, signal);
  }

  /** Takes a committed batch. At `moment`, nothing after it had been committed. Returns false if there is a gap before it. */
  take({ first, last, writer, events, values }: Followed, moment: Moment): boolean {
    const { revision } = this.feed;
    if (first <= revision) {
      // A void batch may start within the known revisions, too.
      if (values !== undefined) this.options.backlog.setValues(first, values);
      return true;
    }
    if (first > revision + 1) return false;
    this.at = moment;
    this.newest = { first, last, writer };
    this.counts.taken++;
    if (events.length === 0) {
      this.restartFrom(last);
      return true;
    }
    for (const event of events) this.options.known.apply(event);
    this.options.backlog.add({ first, writer, events, values });
    this.feed.push(events);
    this.wake();
    return true;
  }

  /** Reads the log after the newest known revision. A caller that arrives during a read waits for one that starts later. */
  async catchUp(): Promise<void> {
    const running = this.reading;
    if (running !== undefined) {
      await running.catch(() => undefined);
      if (this.reading !== undefined && this.reading !== running) return this.reading;
    }
    const reading = this.readOn(undefined).finally(() => {
      if (this.reading === reading) this.reading = undefined;
    });
    this.reading = reading;
    return reading;
  }

  /** Resolves when a revision after the given one is known, or on timeout. */
  async progress(after: Revision, millis: number): Promise<void> {
    if (this.revision > after || this.stopping.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        timer.cancel();
        this.waiters.delete(done);
        resolve();
      };
      const timer = this.options.clock.setTimer(millis, done);
      this.waiters.add(done);
    });
  }

  private wake(): void {
    for (const waiter of [...this.waiters]) waiter();
  }

  private newFeed(revision: Revision): EventFeed {
    return new EventFeed({
      revision,
      readLog: (after) => this.readLog(after),
    });
  }

  private async readLog(after: Revision): Promise<readonly LogEvent[]> {
    const { place, clock } = this.options;
    const oldest = this.options.oldest();
    if (after < oldest) throw compacted(after, oldest);
    const { revision } = this.feed;
    try {
      const first = await withTimeout(clock, READ_MILLIS, firstOf(place, after + 1));
      const { batches } = await this.batchesAfter(first - 1, undefined);
      // Batches read at or below the floor may have been trimmed, or be void.
      const lost = await withTimeout(clock, READ_MILLIS, readOldest(place));
      if (after < lost) throw compacted(after, lost);
      const events = batches.flatMap((batch) => eventsOf(batch, after + 1));
      return contiguousAfter(
        after,
        events.filter((event) => event.revision <= revision),
      );
    } catch (error) {
      throw unavailable(error);
    }
  }

  private batchesAfter(after: Revision, session: ClientSession | undefined): ReturnType<typeof batchesAfter> {
    const { place, clock } = this.options;
    return withTimeout(clock, READ_MILLIS, batchesAfter(place, after, { limit: READ_AHEAD, session }));
  }

  private async readOn(session: ClientSession | undefined): Promise<void> {
    const { clock, place, historyMillis } = this.options;
    for (;;) {
      const { at } = this;
      const { batches, ended, moment } = await this.batchesAfter(this.revision, session);
      // Commits of this replica may have arrived in between.
      const fresh = batches.filter((batch) => batch._id > this.revision);
      const isNext = fresh.length === 0 || fresh[0]?._id === this.revision + 1;
      // So soon after the newest known revision, the next batches cannot have been trimmed, or be void.
      if (!isNext || !isWithin(at, moment, historyMillis)) {
        const { floor } = await withTimeout(clock, READ_MILLIS, readFloor(place));
        if (this.revision < floor) {
          this.restartFrom(floor);
          continue;
        }
      }
      this.receive(fresh, ended ? moment : NaN);
      if (ended) return;
    }
  }

  private receive(batches: readonly BatchDocument[], moment: Moment): void {
    const { writer } = this.options;
    this.recordForeign(batches.filter((batch) => batch.writer !== writer && batch._id > this.revision));
    for (const batch of batches) {
      if (!this.take(followed(batch), NaN)) {
        this.restartFrom(batch._id - 1);
        this.take(followed(batch), NaN);
      }
    }
    this.at = moment;
  }

  /** Continues after a revision because the events before it are unknown: readers get an error, and all known states are dropped. */
  private restartFrom(revision: Revision): void {
    this.counts.holes++;
    const lost = this.feed;
    this.options.known.clear(revision);
    this.feed = this.newFeed(revision);
    this.options.onCompacted(revision);
    lost.end(
      new StorageError('compacted', `the events after revision ${lost.revision} are no longer kept`, {
        revision: lost.revision,
        current: revision,
      }),
    );
    this.wake();
  }

  private async follow(): Promise<void> {
    const { signal } = this.stopping;
    let token: unknown;
    let failures = 0;
    while (!signal.aborted) {
      try {
        await this.followStream(token, (next) => {
          token = next;
          failures = 0;
          this.trouble = '';
          this.lastResponseAt = this.options.clock.monotonic();
        });
        token = undefined;
        if (this.newest !== undefined && !this.stopping.signal.aborted) this.options.onDropped();
      } catch (error) {
        if (this.stopping.signal.aborted) return;
        failures++;
        // The driver's message names hosts; only the observer receives it.
        this.trouble = 'the change stream failed';
        this.options.failed(error);
        if (isTokenLost(error) || failures >= TOKEN_ATTEMPTS) token = undefined;
        await sleep(this.options.clock, Math.min(RETRY_MILLIS * 2 ** failures, MAX_RETRY_MILLIS), signal);
      }
    }
  }

  /** Follows the change stream until it ends (the collection was dropped) or fails. */
  private async followStream(token: unknown, received: (token: unknown) => void): Promise<void> {
    const { client, writer } = this.options;
    const { db, collection } = this.options.place;
    const { signal } = this.stopping;
    const session = client.startSession({ causalConsistency: true });
    // Cursor ids do not fit into JavaScript numbers. Commands ignore the client's decoding options.
    const options = { session, promoteLongs: false, promoteBuffers: true, signal };
    try {
      const stage = token === undefined ? {} : { resumeAfter: token };
      let cursor = cursorOf(
        await db.command(
          {
            aggregate: collection,
            pipeline: [
              { $changeStream: stage },
              { $match: { operationType: 'insert', 'fullDocument.writer': { $ne: writer } } },
              { $project: { fullDocument: 1, clusterTime: 1 } },
            ],
            cursor: { batchSize: STREAM_BATCH },
            readConcern: { level: 'majority' },
          },
          options,
        ),
      );
      // Batches appended before the stream started; the session sees at least the state of that time.
      await this.readOn(session);
      for (;;) {
        await this.takeStreamed(cursor.changes);
        received(cursor.token);
        if (cursor.ended) return;
        cursor = cursorOf(
          await db.command(
            { getMore: cursor.id, collection, batchSize: STREAM_BATCH, maxTimeMS: AWAIT_MILLIS },
            options,
          ),
        );
      }
    } finally {
      await session.endSession().catch(() => undefined);
    }
  }

  private recordForeign(batches: readonly BatchDocument[]): void {
    if (batches.length === 0) return;
    this.foreign = this.options.clock.monotonic();
    this.foreignEntries = batches.reduce((sum, { entries }) => sum + entries.length, 0);
  }

  private async takeStreamed(changes: readonly Change[]): Promise<void> {
    const fresh = changes.filter(({ fullDocument }) => fullDocument._id > this.revision);
    this.recordForeign(fresh.map(({ fullDocument }) => fullDocument));
    for (const { fullDocument, clusterTime } of fresh) {
      if (this.take(followed(fullDocument), momentOf(clusterTime))) continue;
      // This replica's own batches are filtered out of the stream, which leaves gaps.
      await this.catchUp();
      return;
    }
  }
}

function followed(batch: BatchDocument): Followed {
  return { first: batch._id, last: batch.last, writer: batch.writer, events: eventsOf(batch) };
}

interface Change {
  readonly fullDocument: BatchDocument;
  readonly clusterTime?: Timestamp;
}

interface StreamCursor {
  readonly id: unknown;
  readonly ended: boolean;
  readonly token: unknown;
  readonly changes: readonly Change[];
}

function cursorOf(reply: Document): StreamCursor {
  const cursor = reply['cursor'] as {
    readonly id: { toString(): string };
    readonly postBatchResumeToken: unknown;
    readonly firstBatch?: readonly Change[];
    readonly nextBatch?: readonly Change[];
  };
  return {
    id: cursor.id,
    ended: cursor.id.toString() === '0',
    token: cursor.postBatchResumeToken,
    changes: cursor.nextBatch ?? cursor.firstBatch ?? [],
  };
}
