import { UUID, type ClientSession, type Collection, type Db, type MongoClient } from 'mongodb';
import { MAIN_LOG } from './documents.js';

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
  private session: ClientSession | undefined;
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

  async current(): Promise<ClientSession> {
    if (this.session === undefined || this.session.hasEnded) {
      if (this.former !== undefined) {
        await this.kill([this.former]);
        this.former = undefined;
      }
      this.session = this.client.startSession({ causalConsistency: false });
      this.registered = '';
    }
    const name = sessionName(this.session);
    if (this.registered !== name) {
      await this.register(name);
      this.registered = name;
    }
    return this.session;
  }

  /** Lets the document live on. */
  async renew(): Promise<void> {
    await this.register(this.registered === '' ? undefined : this.registered);
  }

  /** Whatever the session's transaction was doing, it ends; the next one runs in another session. */
  async abandon(): Promise<void> {
    const { session } = this;
    if (session === undefined) return;
    this.former = sessionName(session);
    this.session = undefined;
    await session.endSession().catch(() => undefined);
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
    await this.abandon();
    await this.writers.deleteOne({ _id: this.id });
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

function sessionName(session: ClientSession): string {
  const id: unknown = session.id?.id;
  if (typeof id === 'object' && id !== null && 'toString' in id && 'buffer' in id && id.buffer instanceof Uint8Array) {
    return new UUID(id.buffer).toHexString(true);
  }
  throw new Error('the session has no id');
}
