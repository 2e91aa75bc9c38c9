import type { Collection, MongoClient } from 'mongodb';
import type { Clock } from '../../../util/clock.js';
import { MAIN_LOG, WRITERS } from '../documents.js';
import { within } from '../connection/within.js';

/** A replica that is there, for each log that it writes to. */
export interface WriterDocument {
  readonly _id: string;
  /** Absent: the main one. */
  readonly log?: string;
  /** Which types have logs of their own, as this replica was told. */
  readonly layout?: string;
  /** By MongoDB's clock; a document that nobody renews expires. */
  readonly seen: Date;
  /** When the replica asked for a turn because others were always faster, by MongoDB's clock, and how long it needs one. */
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
  /** A client like the first one, with connections of its own. */
  connect(): MongoClient;
}

/** No question to MongoDB is waited for longer. */
const QUESTION_MILLIS = 10_000;
/** Who has not asked again for so long needs no turn any more. */
const CLAIM_MILLIS = 2_000;

/** The replicas that write to a log: this one tells the others that it is there, and which turn it asks for. */
export class Writers {
  /** What this one writes with. */
  client: MongoClient;

  constructor(private readonly options: WritersOptions) {
    this.client = options.client;
  }

  /** Tells other replicas that this one is (still) there. */
  async announce(): Promise<void> {
    const { log, layout, id } = this.options;
    const update = { $set: { log, layout }, $currentDate: { seen: true as const } };
    await this.ask(this.writers.updateOne({ _id: id }, update, { upsert: true }));
  }

  /** Goes on with connections of a new client. */
  startOver(): void {
    const { client, options } = this;
    this.client = options.connect();
    if (client !== options.client) void client.close().catch(() => undefined);
  }

  /** Asks those who commit back to back to wait once, for so long. */
  async claim(turnMillis: number): Promise<void> {
    const { id } = this.options;
    await this.ask(
      this.writers.updateOne({ _id: id }, { $set: { turnMillis }, $currentDate: { wants: true } }, { upsert: true }),
    );
  }

  /** How long the others in the same log ask to wait; 0: nobody does. */
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

  /** Replicas of an earlier version do not name the main log. */
  private sharesLog({ log = MAIN_LOG }: WriterDocument): boolean {
    return log === this.options.log;
  }

  private ask<T>(question: Promise<T>): Promise<T> {
    return within(this.options.clock, QUESTION_MILLIS, question);
  }
}
