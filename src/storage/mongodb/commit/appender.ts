import type { ClientSession, MongoClient } from 'mongodb';
import { batchesOf, type BatchDocument, type LogPlace } from '../documents.js';
import { isDuplicateKey, isRefusal } from '../connection/failures.js';
import { readFloor } from '../log/read.js';
import { isWithin, momentOf, type Moment } from '../log/time.js';
import type { Writers } from './writers.js';

/**
 * The outcome of an insert.
 * - committed: durable on a majority, and certainly not void.
 * - stale: a batch with this first revision exists; it may be the same batch.
 * - refused: MongoDB does not accept it, now or later; nothing was written.
 * - unsent: there is no primary to send it to; nothing was written.
 * - unknown: the answer was lost or came late.
 */
export type Inserted =
  | { readonly outcome: 'committed' | 'stale' }
  | { readonly outcome: 'refused' | 'unsent' | 'unknown'; readonly error: unknown };

/**
 * The verdict of the log on a batch whose outcome is unknown.
 * - absent: it is not in the log (yet), and its first revision is free.
 * - lost: the floor has reached its revision too long after it was sent, so the outcome cannot be determined.
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

  /** A lower bound of MongoDB's cluster time. */
  get moment(): Moment {
    return momentOf(this.session?.clusterTime?.clusterTime);
  }

  /** Inserts a batch. `head`: a time when the batch before it was the newest one. */
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
    // If the revision had been taken and trimmed, that would have taken a whole window.
    if (isWithin(head, this.moment, historyMillis / 2)) return { outcome: 'committed' };
    return { outcome: 'unknown', error: new Error('MongoDB responded too late') };
  }

  /** Determines whether a batch was committed. `sent`: a time before the first attempt to insert it. */
  async judge(batch: BatchDocument, sent: Moment): Promise<Verdict> {
    const { place, historyMillis } = this.options;
    // In this order: a batch that is trimmed between the two reads is below the floor.
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
