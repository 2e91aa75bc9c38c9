import { UUID, type Collection, type MongoClient } from 'mongodb';
import type { Clock } from '../../../util/clock.js';
import { Channel } from './channel.js';
import { MAIN_LOG, WRITERS } from '../documents.js';
import { Transactions } from './transactions.js';
import { within } from '../within.js';

/** A replica that is there, for each log that it writes to. */
export interface WriterDocument {
  readonly _id: string;
  /** Absent: the main one. */
  readonly log?: string;
  /** Which types have logs of their own, as this replica was told. */
  readonly layout?: string;
  /** The session that may hold a transaction open; absent as long as nothing was written. */
  readonly session?: string;
  /** By MongoDB's clock; a document that nobody renews expires. */
  readonly seen: Date;
  /** When the replica asked for a turn because others were always faster, by MongoDB's clock, and how long it needs one. */
  readonly wants?: Date;
  readonly turnMillis?: number;
}

export interface WriterSessionOptions {
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

/**
 * The session that a replica's transactions run in. MongoDB keeps a transaction open for a minute though its client is
 * gone, and nobody else can append meanwhile; so every replica registers its session, and one that is held up ends the
 * others' transactions. That does no harm to one that is alive: it tries again.
 */
export class WriterSession {
  private transactions: Transactions | undefined;
  private registered = '';
  private former: string | undefined;
  private client: MongoClient;

  constructor(private readonly options: WriterSessionOptions) {
    this.client = options.client;
  }

  /** Tells other replicas that this one is there. */
  async announce(): Promise<void> {
    await this.register(undefined);
  }

  async current(): Promise<Transactions> {
    if (this.transactions === undefined) {
      if (this.former !== undefined) {
        await this.kill([this.former]);
        this.former = undefined;
      }
      this.transactions = new Transactions(this.options.database, await this.openChannel());
      this.registered = '';
    } else if (!this.transactions.connected) {
      this.transactions.use(await this.openChannel());
    }
    const name = nameOf(this.transactions);
    if (this.registered !== name) {
      await this.register(name);
      this.registered = name;
    }
    return this.transactions;
  }

  /** Lets the document live on. */
  async renew(): Promise<void> {
    await this.register(this.registered === '' ? undefined : this.registered);
  }

  /** Whatever the session's transaction was doing, it ends before the next one begins, in another session. */
  abandon(): void {
    const { transactions } = this;
    if (transactions === undefined) return;
    this.former = nameOf(transactions);
    this.transactions = undefined;
    transactions.close();
  }

  /** The same, and goes on with connections of a new client. */
  startOver(): void {
    this.abandon();
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

  /** Ends the transactions of all other replicas in the same log. */
  async endOthers(): Promise<void> {
    const found = await this.ask(this.writers.find({ _id: { $ne: this.options.id } }).toArray());
    const others = found.filter((other) => this.sharesLog(other));
    await this.kill(others.flatMap(({ session }) => (session === undefined ? [] : [session])));
  }

  async close(): Promise<void> {
    this.abandon();
    const { former, client, options } = this;
    try {
      await Promise.all([former && this.kill([former]), this.ask(this.writers.deleteOne({ _id: options.id }))]);
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

  private async openChannel(): Promise<Channel> {
    const { client } = this;
    // Of a new client; the first one is connected.
    await this.ask(client.connect());
    return Channel.open(client, this.options.clock);
  }

  private ask<T>(question: Promise<T>): Promise<T> {
    return within(this.options.clock, QUESTION_MILLIS, question);
  }

  private async register(session: string | undefined): Promise<void> {
    const { log, layout, id } = this.options;
    const $set: Partial<WriterDocument> = session === undefined ? { log, layout } : { log, layout, session };
    await this.ask(this.writers.updateOne({ _id: id }, { $set, $currentDate: { seen: true } }, { upsert: true }));
  }

  private async kill(sessions: readonly string[]): Promise<void> {
    if (sessions.length === 0) return;
    const killSessions = sessions.map((name) => ({ id: new UUID(name) }));
    await this.ask(this.client.db('admin').command({ killSessions }));
  }
}

function nameOf({ id }: Transactions): string {
  return id.toHexString(true);
}
