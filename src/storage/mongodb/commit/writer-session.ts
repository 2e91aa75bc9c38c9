import { UUID, type Collection, type Db, type MongoClient } from 'mongodb';
import { Channel } from './channel.js';
import { MAIN_LOG } from '../documents.js';
import { Transactions } from './transactions.js';

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
}

/**
 * The session that a replica's transactions run in. MongoDB keeps a transaction open for a minute though its client is
 * gone, and nobody else can append meanwhile; so every replica registers its session, and one that is held up ends the
 * others' transactions. That does no harm to one that is alive: it tries again.
 */
export class WriterSession {
  private transactions: Transactions | undefined;
  private registered = '';
  private former: string | undefined;

  constructor(
    private readonly client: MongoClient,
    private readonly db: Db,
    private readonly writers: Collection<WriterDocument>,
    private readonly id: string,
    private readonly log: string,
    private readonly layout: string,
  ) {}

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
      this.transactions = new Transactions(this.db.databaseName, await Channel.open(this.client));
      this.registered = '';
    } else if (!this.transactions.connected) {
      this.transactions.use(await Channel.open(this.client));
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

  /** Ends the transactions of all other replicas in the same log. */
  async endOthers(): Promise<void> {
    // Replicas of an earlier version do not name their log.
    const logs = this.log === MAIN_LOG ? [MAIN_LOG, undefined] : [this.log];
    const others = (await this.writers.find({ _id: { $ne: this.id } }).toArray()).filter(({ log }) =>
      logs.includes(log),
    );
    await this.kill(others.flatMap(({ session }) => (session === undefined ? [] : [session])));
  }

  async close(): Promise<void> {
    this.abandon();
    const { former } = this;
    await Promise.all([former && this.kill([former]), this.writers.deleteOne({ _id: this.id })]);
  }

  private async register(session: string | undefined): Promise<void> {
    const { log, layout } = this;
    const $set: Partial<WriterDocument> = session === undefined ? { log, layout } : { log, layout, session };
    await this.writers.updateOne({ _id: this.id }, { $set, $currentDate: { seen: true } }, { upsert: true });
  }

  private async kill(sessions: readonly string[]): Promise<void> {
    if (sessions.length === 0) return;
    await this.db.admin().command({ killSessions: sessions.map((name) => ({ id: new UUID(name) })) });
  }
}

function nameOf({ id }: Transactions): string {
  return id.toHexString(true);
}
