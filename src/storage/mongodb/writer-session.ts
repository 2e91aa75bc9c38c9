import { UUID, type ClientSession, type Collection, type Db, type MongoClient } from 'mongodb';

/** The sessions of a replica that may hold a transaction open. */
export interface WriterDocument {
  readonly _id: string;
  readonly session: string;
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
  ) {}

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
    if (this.registered !== '') await this.register(this.registered);
  }

  /** Whatever the session's transaction was doing, it ends; the next one runs in another session. */
  async abandon(): Promise<void> {
    const { session } = this;
    if (session === undefined) return;
    this.former = sessionName(session);
    this.session = undefined;
    await session.endSession().catch(() => undefined);
  }

  /** Ends the transactions of all other replicas. */
  async endOthers(): Promise<void> {
    const others = await this.writers.find({ _id: { $ne: this.id } }).toArray();
    await this.kill(others.map((other) => other.session));
  }

  async close(): Promise<void> {
    await this.abandon();
    await this.writers.deleteOne({ _id: this.id });
  }

  private async register(session: string): Promise<void> {
    await this.writers.updateOne(
      { _id: this.id },
      { $set: { session }, $currentDate: { seen: true } },
      { upsert: true, writeConcern: { w: 1 } },
    );
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
