import type { Collection, MongoClient } from 'mongodb';
import type { Clock } from '../../../util/clock.js';
import { MAIN_LOG, WRITERS } from '../documents.js';
import { withTimeout } from '../../../util/with-timeout.js';

/** A running replica, with one document for each log that it writes to. */
export interface WriterDocument {
  readonly _id: string;
  /** Absent for the main log. */
  readonly log?: string;
  /** The layout that this replica was started with: the types with logs of their own. */
  readonly layout?: string;
  /** The last announcement, by MongoDB's clock. A document that is not renewed expires. */
  readonly seen: Date;
  /** When the replica asked for a turn because others were always faster, by MongoDB's clock, and how long a turn it needs. */
  readonly wants?: Date;
  readonly turnMillis?: number;
}

export interface WritersOptions {
  readonly client: MongoClient;
  readonly database: string;
  readonly clock: Clock;
  readonly id: string;
  readonly log: string;
  readonly layout: string;
  /** Creates a client like the first one, with connections of its own. */
  connect(): MongoClient;
}

/** The maximum time of a request to MongoDB. */
const QUESTION_MILLIS = 10_000;
/** A replica that has not asked again for this long no longer needs a turn. */
const CLAIM_MILLIS = 2_000;

/** The replicas that write to a log: announces this one to the others, and the turns that it asks for. */
export class Writers {
  /** The client that this replica writes with. */
  client: MongoClient;

  constructor(private readonly options: WritersOptions) {
    this.client = options.client;
  }

  /** Announces that this replica is (still) running. */
  async announce(): Promise<void> {
    const { log, layout, id } = this.options;
    const update = { $set: { log, layout }, $currentDate: { seen: true as const } };
    await this.ask(this.writers.updateOne({ _id: id }, update, { upsert: true }));
  }

  /** Continues with a new client and its connections. */
  startOver(): void {
    const { client, options } = this;
    this.client = options.connect();
    if (client !== options.client) void client.close().catch(() => undefined);
  }

  /** Asks replicas that commit back to back to wait once for this long. */
  async claim(turnMillis: number): Promise<void> {
    const { id } = this.options;
    await this.ask(
      this.writers.updateOne({ _id: id }, { $set: { turnMillis }, $currentDate: { wants: true } }, { upsert: true }),
    );
  }

  /** Returns the longest wait that other replicas of the same log ask for; 0 if none does. */
  async claimed(): Promise<number> {
    const fresh = { $expr: { $gt: ['$wants', { $subtract: ['$$NOW', CLAIM_MILLIS] }] } };
    const others = await this.ask(this.writers.find({ _id: { $ne: this.options.id }, ...fresh }).toArray());
    return Math.max(0, ...others.filter((other) => this.sharesLog(other)).map(({ turnMillis = 0 }) => turnMillis));
  }

  async close(): Promise<void> {
    const { client, options } = this;
    try {
      await this.ask(this.writers.deleteOne({ _id: options.id }));
    } finally {
      if (client !== options.client) await client.close();
    }
  }

  private get writers(): Collection<WriterDocument> {
    return this.client.db(this.options.database).collection<WriterDocument>(WRITERS);
  }

  /** Reports whether a replica writes to the same log. Replicas of an earlier version do not name the main log. */
  private sharesLog({ log = MAIN_LOG }: WriterDocument): boolean {
    return log === this.options.log;
  }

  private ask<T>(question: Promise<T>): Promise<T> {
    return withTimeout(this.options.clock, QUESTION_MILLIS, question);
  }
}
