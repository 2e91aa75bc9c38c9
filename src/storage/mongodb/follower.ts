import type { ClientSession, Collection, Document, MongoClient } from 'mongodb';
import { sleep, type Clock } from '../../util/clock.js';
import { compacted, StorageError } from '../errors.js';
import { contiguousAfter, EventFeed } from '../event-feed.js';
import type { LogEvent, Revision } from '../interfaces.js';
import { entriesOf, eventOf, type LogDocument, type LogPlace } from './documents.js';
import { closed, isTokenLost, unavailable } from './failures.js';
import type { Heads } from './heads.js';
import { compactedRevision } from './layout.js';
import { within } from './within.js';

export interface FollowerOptions {
  readonly client: MongoClient;
  readonly place: LogPlace;
  readonly clock: Clock;
  readonly heads: Heads;
  /** The newest revision when following begins. */
  readonly revision: Revision;
  /** This replica's name; its own entries come from its commits, not by the change stream. */
  readonly writer: string;
  /** What lies before is no longer kept. */
  oldest(): Revision;
  /** The change stream broke off. */
  failed(error: unknown): void;
}

/** Entries read at once. */
const READ_AHEAD = 200;
/** No reading of the log is waited for longer. */
const READ_MILLIS = 10_000;
const STREAM_BATCH = 500;
const AWAIT_MILLIS = 1_000;
const RETRY_MILLIS = 50;
const MAX_RETRY_MILLIS = 2_000;
/** A change stream that does not answer for so long is broken. */
const SILENT_MILLIS = 10_000;
/** A resume token that failed so often in a row is given up. */
const TOKEN_ATTEMPTS = 3;

/**
 * Knows the log up to some revision and goes on from there without a hole: by this replica's commits, by the change stream
 * for what other replicas append, and by reading the log itself wherever those two leave something out.
 */
export class LogFollower {
  private readonly log: Collection<LogDocument>;
  private readonly stopping = new AbortController();
  private feed: EventFeed;
  private reading: Promise<void> | undefined;
  private following: Promise<void> | undefined;
  private readonly waiters = new Set<() => void>();
  private foreign = -Infinity;
  private foreignEntries = 0;
  /** Why the change stream failed; empty while it runs. */
  private trouble = '';
  /** When it was last heard of, in monotonic milliseconds. */
  private heard: number;

  constructor(private readonly options: FollowerOptions) {
    this.log = entriesOf(options.place);
    this.feed = this.newFeed(options.revision);
    this.heard = options.clock.monotonic();
  }

  get revision(): Revision {
    return this.feed.revision;
  }

  /** When another replica's entry was last seen, in monotonic milliseconds. */
  get lastForeign(): number {
    return this.foreign;
  }

  /** How many entries of other replicas came in then: how much somebody else has to write. */
  get lastForeignEntries(): number {
    return this.foreignEntries;
  }

  /** Whether news of other replicas comes in. */
  health(): { readonly ok: boolean; readonly reason: string } {
    if (this.trouble !== '') return { ok: false, reason: this.trouble };
    const silent = this.options.clock.monotonic() - this.heard;
    if (silent < SILENT_MILLIS) return { ok: true, reason: '' };
    return { ok: false, reason: `the change stream has been silent for ${Math.round(silent / 1000)} s` };
  }

  start(): void {
    this.following = this.follow();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.feed.end(closed());
    this.wake();
    await this.following;
  }

  /** Events after a revision, for any number of readers. */
  events(after: Revision, signal: AbortSignal): AsyncIterable<readonly LogEvent[]> {
    return this.feed.read(after, signal);
  }

  /** Takes committed events. Known ones are left out; false where there is a hole before them. */
  take(events: readonly LogEvent[]): boolean {
    const { revision } = this.feed;
    const first = events[0]?.revision ?? 0;
    const fresh = first > revision ? events : events.filter((event) => event.revision > revision);
    if (fresh.length === 0) return true;
    if (contiguousAfter(revision, fresh).length < fresh.length) return false;
    for (const event of fresh) this.options.heads.apply(event);
    this.feed.push(fresh);
    this.wake();
    return true;
  }

  /** Reads what the log has after the newest known revision. Whoever comes while one reads waits for one that begins later. */
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

  /**
   * The floor of the history has reached a revision that was thought to be the next one: goes on from the newest entry, or
   * from the floor where the log has none above it.
   */
  async overtaken(): Promise<void> {
    await this.catchUp();
    const floor = await within(this.options.clock, READ_MILLIS, compactedRevision(this.options.place));
    if (this.revision < floor) this.goOnFrom(floor);
  }

  /** Resolves when something after a revision is known, or when the time is over. */
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
      maxEvents: 512,
      maxBytes: 4 << 20,
      readLog: (after) => this.readLog(after),
    });
  }

  private async readLog(after: Revision): Promise<readonly LogEvent[]> {
    const oldest = this.options.oldest();
    if (after < oldest) throw compacted(after, oldest);
    const { revision } = this.feed;
    try {
      const entries = await this.entriesAfter(after, undefined);
      // They come in several batches without a common snapshot, and entries may be removed meanwhile.
      const events = entries.filter((entry) => entry._id <= revision).map(eventOf);
      return contiguousAfter(after, events);
    } catch (error) {
      throw unavailable(error);
    }
  }

  private entriesAfter(after: Revision, session: ClientSession | undefined): Promise<LogDocument[]> {
    const found = this.log
      .find({ _id: { $gt: after } }, session === undefined ? {} : { session })
      .sort({ _id: 1 })
      .limit(READ_AHEAD)
      .toArray();
    return within(this.options.clock, READ_MILLIS, found);
  }

  private async readOn(session: ClientSession | undefined): Promise<void> {
    for (;;) {
      const entries = await this.entriesAfter(this.revision, session);
      this.receive(entries);
      if (entries.length < READ_AHEAD) return;
    }
  }

  /** Takes entries read from the log; where one is missing, everything before the last one is given up. */
  private receive(entries: readonly LogDocument[]): void {
    this.sawForeign(
      entries.filter((entry) => entry.writer !== this.options.writer && entry._id > this.revision).length,
    );
    if (!this.take(entries.map(eventOf))) this.goOnFrom(entries.at(-1)?._id ?? this.revision);
  }

  /** Nobody knows what happened before a revision: readers are told so, and no state known so far counts. */
  private goOnFrom(revision: Revision): void {
    const lost = this.feed;
    this.options.heads.clear();
    this.feed = this.newFeed(revision);
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
          this.heard = this.options.clock.monotonic();
        });
        token = undefined;
      } catch (error) {
        if (this.stopping.signal.aborted) return;
        failures++;
        // What the driver says names hosts; whoever observes is told it.
        this.trouble = 'the change stream failed';
        this.options.failed(error);
        if (isTokenLost(error) || failures >= TOKEN_ATTEMPTS) token = undefined;
        await sleep(this.options.clock, Math.min(RETRY_MILLIS * 2 ** failures, MAX_RETRY_MILLIS), signal);
      }
    }
  }

  /** Until the stream ends (the collection was dropped) or fails. */
  private async followStream(token: unknown, received: (token: unknown) => void): Promise<void> {
    const { client, writer } = this.options;
    const { db, collection } = this.options.place;
    const { signal } = this.stopping;
    const session = client.startSession({ causalConsistency: true });
    // Numbers of cursors do not fit into JavaScript's. A command does not take the client's ways of decoding.
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
              { $project: { fullDocument: 1 } },
            ],
            cursor: { batchSize: STREAM_BATCH },
            readConcern: { level: 'majority' },
          },
          options,
        ),
      );
      // What was appended before the stream began; the session sees at least what was there then.
      await this.readOn(session);
      for (;;) {
        await this.takeStreamed(cursor.documents);
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

  private sawForeign(entries: number): void {
    if (entries === 0) return;
    this.foreign = this.options.clock.monotonic();
    this.foreignEntries = entries;
  }

  private async takeStreamed(documents: readonly LogDocument[]): Promise<void> {
    if (documents.length === 0) return;
    const events = documents.filter((document) => document._id > this.revision).map(eventOf);
    this.sawForeign(events.length);
    let from = 0;
    // This replica's own entries are left out of the stream, so there are gaps where they belong.
    for (let i = 1; i <= events.length; i++) {
      const next = events[i];
      if (next !== undefined && next.revision === (events[i - 1]?.revision ?? 0) + 1) continue;
      if (!this.take(events.slice(from, i))) {
        await this.catchUp();
        return;
      }
      from = i;
    }
  }
}

interface StreamCursor {
  readonly id: unknown;
  readonly ended: boolean;
  readonly token: unknown;
  readonly documents: readonly LogDocument[];
}

function cursorOf(reply: Document): StreamCursor {
  const cursor = reply['cursor'] as {
    readonly id: { toString(): string };
    readonly postBatchResumeToken: unknown;
    readonly firstBatch?: readonly { readonly fullDocument: LogDocument }[];
    readonly nextBatch?: readonly { readonly fullDocument: LogDocument }[];
  };
  const batch = cursor.nextBatch ?? cursor.firstBatch ?? [];
  return {
    id: cursor.id,
    ended: cursor.id.toString() === '0',
    token: cursor.postBatchResumeToken,
    documents: batch.map((change) => change.fullDocument),
  };
}
