import { randomUUID } from 'node:crypto';
import type { Collection, Db } from 'mongodb';
import type { Clock } from '../../util/clock.js';
import type { Presence } from '../interfaces.js';
import { REPLICAS } from './documents.js';
import { unavailable } from './connection/failures.js';
import { withTimeout } from '../../util/with-timeout.js';

const PRESENT_MILLIS = 15_000;
/** The time after which the documents of processes that ended without removing them expire. */
const FORGOTTEN_SECONDS = 3_600;
const QUESTION_MILLIS = 5_000;

interface ReplicaDocument {
  readonly _id: string;
  readonly says: string;
  /** The last update, by MongoDB's clock. */
  readonly seen: Date;
}

/** Keeps one document for each process. */
export class MongoPresence implements Presence {
  private readonly id = randomUUID();
  private indexed = false;

  constructor(
    /** Returns the database; throws StorageError if the store is not open. */
    private readonly db: () => Db,
    private readonly clock: Clock,
  ) {}

  async publish(what: string): Promise<void> {
    if (!this.indexed) {
      await this.ask(this.replicas.createIndex({ seen: 1 }, { expireAfterSeconds: FORGOTTEN_SECONDS }, {}));
      this.indexed = true;
    }
    await this.ask(
      this.replicas.updateOne(
        { _id: this.id },
        { $set: { says: what }, $currentDate: { seen: true } },
        { upsert: true },
      ),
    );
  }

  async all(withinMillis = PRESENT_MILLIS): Promise<readonly string[]> {
    const fresh = { $expr: { $gt: ['$seen', { $subtract: ['$$NOW', withinMillis] }] } };
    return (await this.ask(this.replicas.find(fresh).toArray())).map(({ says }) => says);
  }

  async leave(): Promise<void> {
    await this.ask(this.replicas.deleteOne({ _id: this.id }));
  }

  private get replicas(): Collection<ReplicaDocument> {
    return this.db().collection<ReplicaDocument>(REPLICAS);
  }

  private async ask<T>(question: Promise<T>): Promise<T> {
    try {
      return await withTimeout(this.clock, QUESTION_MILLIS, question);
    } catch (error) {
      throw unavailable(error);
    }
  }
}
