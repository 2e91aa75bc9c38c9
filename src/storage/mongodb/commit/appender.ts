import type { ClientSession, MongoClient } from 'mongodb';
import { batchesOf, type BatchDocument, type LogPlace } from '../documents.js';
import { isDuplicateKey, isRefusal } from '../connection/failures.js';
import { readFloor } from '../log/read.js';
import { isWithin, momentOf, type Moment } from '../log/time.js';
import type { Writers } from './writers.js';

/**
 * How an insert ended.
 * - committed: durable on a majority, and surely not void.
 * - stale: a batch has the first revision; it may be the same one.
 * - refused: MongoDB will not take it, now or later; nothing was written.
 * - unsent: there is no primary to send it to; nothing was written.
 * - unknown: the answer was lost, or came late.
 */
export type Inserted =
  | { readonly outcome: 'committed' | 'stale' }
  | { readonly outcome: 'refused' | 'unsent' | 'unknown'; readonly error: unknown };

/**
 * What the log says of a batch whose outcome is unknown.
 * - absent: it is not there (yet), and its place is free.
 * - lost: the floor has reached its place too long after it was sent: nobody can tell.
 */
export type Verdict = 'committed' | 'stale' | 'absent' | 'lost';

export interface AppenderOptions {
  readonly place: LogPlace;
  readonly writers: Pick<Writers, 'client'>;
  readonly historyMillis: number;
}

const WRITE_CONCERN = { w: 'majority', journal: true, wtimeoutMS: 10_000 } as const;

/** Appends batches to the log (docs/design/mongodb-log.md, "The commit"). */
export class Appender {
  private session: ClientSession | undefined;
  private client: MongoClient | undefined;

  constructor(private readonly options: AppenderOptions) {}

  /** What MongoDB's time is at least. */
  get moment(): Moment {
    return momentOf(this.session?.clusterTime?.clusterTime);
  }

  /** `head`: when the batch before was the newest one. */
  async insert(batch: BatchDocument, head: Moment): Promise<Inserted> {
    const { place, writers, historyMillis } = this.options;
    const { client } = writers;
    if (this.session === undefined || client !== this.client) {
      this.client = client;
      this.session = client.startSession({ causalConsistency: false });
    }
    const { session } = this;
    if (!place.latest.hasPrimary) return { outcome: 'unsent', error: new Error('MongoDB has no primary') };
    const log = client.db(place.db.databaseName).collection<BatchDocument>(place.collection);
    try {
      await log.insertOne(batch, { session, writeConcern: WRITE_CONCERN });
    } catch (error) {
      if (isDuplicateKey(error)) return { outcome: 'stale' };
      return { outcome: isRefusal(error) ? 'refused' : 'unknown', error };
    }
    // Had the revision been taken and trimmed, that would have lasted a window.
    if (isWithin(head, this.moment, historyMillis / 2)) return { outcome: 'committed' };
    return { outcome: 'unknown', error: new Error('the answer came late') };
  }

  /** `sent`: a moment before the first attempt to insert the batch. */
  async judge(batch: BatchDocument, sent: Moment): Promise<Verdict> {
    const { place, historyMillis } = this.options;
    // In this order: what is trimmed between the two lies below the floor.
    const found = await batchesOf(place).findOne(
      { _id: batch._id },
      { projection: { writer: 1, batch: 1 }, ...place.latest.options },
    );
    const { floor, moment } = await readFloor(place);
    if (floor >= batch._id) return isWithin(sent, moment, historyMillis / 2) ? 'stale' : 'lost';
    if (found === null) return 'absent';
    return found.writer === batch.writer && found.batch === batch.batch ? 'committed' : 'stale';
  }
}
