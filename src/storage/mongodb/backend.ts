import { randomUUID } from 'node:crypto';
import type { Db, MongoClient } from 'mongodb';
import { sleep, systemClock, type Clock } from '../../util/clock.js';
import { compacted, StorageError, tooLarge } from '../errors.js';
import type {
  Backend,
  EventStream,
  ListOptions,
  LogEvent,
  Revision,
  Staging,
  StoredList,
  StoredObject,
  WriteRequest,
  WriteResult,
} from '../interfaces.js';
import { Appender } from './commit/appender.js';
import { Committer } from './commit/committer.js';
import { connect, failureOf, newClient, type ConnectionOptions } from './connection.js';
import {
  FIRST_REVISION,
  logPlace,
  MAIN_LOG,
  META,
  stateCollection,
  statesOf,
  WRITERS,
  type Database,
  type LogPlace,
  type MetaDocument,
} from './documents.js';
import { closed, unavailable } from './failures.js';
import { LogFollower } from './follower.js';
import { Heads } from './heads.js';
import { History } from './history.js';
import { Indexer } from './indexes.js';
import { LAYOUT_FORMAT, layoutText, LogLayout, newestRevision } from './layout.js';
import { listAt } from './list.js';
import { raiseFloor, tellOfRaise } from './raise.js';
import { Reader } from './reader.js';
import { MongoPresence } from './presence.js';
import { MongoStaging } from './staging.js';
import { redact } from './redact.js';
import { WriterSession } from './commit/writer-session.js';
import { messageOf } from '../../util/error-message.js';

export interface MongoOptions {
  /** Where the replica set is, with credentials and TLS options. */
  readonly uri: string;
  /** A database of the store's own. */
  readonly database: string;
  readonly clock?: Clock;
  /** How long past states and the log are kept. */
  readonly historyMillis?: number;
  readonly maxObjectBytes?: number;
  /** How long an operation waits for a primary. */
  readonly selectMillis?: number;
  /** How long a write is tried while MongoDB does not answer. */
  readonly writeMillis?: number;
  /** The log of this store; other ones of the same database order other types. By default the main one. */
  readonly log?: string;
  /** The types with logs other than the main one, the same for all logs of a database. */
  readonly overrides?: ReadonlyMap<string, string>;
  readonly observer?: MongoObserver;
  /** Commands are spans of the requests that they are sent for. */
  readonly traced?: boolean;
  /** Allows `corrupt`. */
  readonly forTests?: boolean;
}

/** Hears of what goes wrong in the background. */
export interface MongoObserver {
  /** The change stream broke off; it is opened anew. */
  streamFailed?(log: string, error: unknown): void;
  /** No write in a log succeeded for long; the commit path has begun anew with new connections. */
  startedOver?(log: string): void;
  /** The indexes of a type could not be brought up to date; it is tried again. */
  indexFailed?(resource: string, error: unknown): void;
}

interface Opened {
  readonly client: MongoClient;
  readonly db: Db;
  readonly place: LogPlace;
  readonly reader: Reader;
  readonly heads: Heads;
  readonly follower: LogFollower;
  readonly committer: Committer;
  readonly history: History;
  readonly session: WriterSession;
  readonly indexer: Indexer;
}

const FORMAT = 3;
const HISTORY_MILLIS = 5 * 60_000;
/** A log entry holds the states before and after a write, and a document 16 MiB. */
const MAX_OBJECT_BYTES = (8 << 20) - (64 << 10);
const HEAD_BYTES = 32 << 20;
const SELECT_MILLIS = 5_000;
const WRITE_MILLIS = 20_000;
/** As long as kube-apiserver gives its store. */
const PING_MILLIS = 2_000;
/** The end of the store waits no longer for writes, */
const LAST_WRITES_MILLIS = 3_000;
/** nor for each of the things that are under way in the background. */
const GOODBYE_MILLIS = 1_000;
const NAMESPACE_EXISTS = 48;
const NO_OVERRIDES: ReadonlyMap<string, string> = new Map();
/** Of registered sessions that nobody renews. */
const WRITER_SECONDS = 3_600;

/** The store in MongoDB, shared by any number of replicas. */
export class MongoBackend implements Backend {
  private opened: Opened | undefined;
  private closing = false;
  private readonly clock: Clock;
  private readonly collections = new Set<string>();
  readonly presence = (): MongoPresence => new MongoPresence(this.store().db, this.clock);

  constructor(private readonly options: MongoOptions) {
    this.clock = options.clock ?? systemClock;
  }

  async open(): Promise<void> {
    const { uri, database } = this.options;
    const { client, db, latest } = await connect(this.connection());
    try {
      await this.prepare({ db, latest });
      this.opened = await this.assemble(client, { db, latest });
      this.closing = false;
    } catch (error) {
      await client.close();
      if (error instanceof StorageError) throw error;
      const message = `the MongoDB database ${database} cannot be used: ${messageOf(error)}`;
      throw new StorageError(failureOf(error), redact(message, uri));
    }
  }

  async close(): Promise<void> {
    const { opened } = this;
    if (opened === undefined || this.closing) return;
    this.closing = true;
    await this.leave(opened.committer.idle(), LAST_WRITES_MILLIS);
    opened.committer.stop();
    const { indexer, history, follower, session, client } = opened;
    await this.leave(Promise.all([indexer.stop(), history.stop(), follower.stop()]));
    await this.leave(session.close());
    this.opened = undefined;
    await this.leave(client.close());
  }

  write(request: WriteRequest): Promise<WriteResult> {
    if (this.opened === undefined || this.closing) return Promise.reject(closed());
    return this.opened.committer.write(request);
  }

  async corrupt(resource: string, key: string, bytes: Uint8Array): Promise<void> {
    if (this.options.forTests !== true) throw new StorageError('unusable', 'the store was not opened for tests');
    const current = await this.get(resource, key);
    await this.store().committer.write({ resource, key, expected: current?.revision ?? 0, value: undefined }, bytes);
  }

  async get(resource: string, key: string): Promise<StoredObject | undefined> {
    const { reader } = this.store();
    return this.answer(reader.get(resource, key));
  }

  async list(resource: string, options: ListOptions): Promise<StoredList> {
    const { client, place, history } = this.store();
    return this.answer(listAt({ client, place, resource, options, oldest: history.oldest }));
  }

  /** The newest state of a type, object by object, and its revision. */
  async walk(resource: string, visit: (object: StoredObject) => void): Promise<Revision> {
    const { client, place, history } = this.store();
    const options = { prefix: '', from: '', limit: 0, revision: 0 };
    return (await this.answer(listAt({ client, place, resource, options, oldest: history.oldest, visit }))).revision;
  }

  async currentRevision(): Promise<Revision> {
    const { place, committer } = this.store();
    const acknowledged = committer.acknowledged;
    const newest = await this.answer(newestRevision(place));
    if (newest < acknowledged) {
      throw new StorageError('unavailable', `MongoDB tells revision ${newest}, but ${acknowledged} was committed`);
    }
    return newest;
  }

  trimmedAt(): number | undefined {
    return this.opened?.history.trimmedAt;
  }

  compactedRevision(): Revision {
    return this.opened?.history.oldest ?? FIRST_REVISION;
  }

  events(after: Revision, signal: AbortSignal): EventStream {
    const { history } = this.store();
    if (after < history.oldest) throw compacted(after, history.oldest);
    return { batches: this.eventsAfter(after, signal) };
  }

  async compact(revision: Revision): Promise<void> {
    const { history } = this.store();
    const current = await this.currentRevision();
    if (revision > current) throw tooLarge(revision, current);
    await this.answer(history.compact(revision));
  }

  async ping(): Promise<void> {
    const { place } = this.store();
    const answer = this.answer(newestRevision(place)).then(() => true);
    if ((await this.soon(answer, PING_MILLIS)) !== true) {
      throw new StorageError('unavailable', `MongoDB has not answered for ${PING_MILLIS / 1000} s`);
    }
  }

  async raise(above: Revision): Promise<void> {
    const { place, follower } = this.store();
    const revision = Math.max(above, follower.revision, await this.currentRevision());
    await this.answer(raiseFloor(place, revision));
    await tellOfRaise((request) => this.write(request));
  }

  staging(name: string): Staging {
    return new MongoStaging(this.store().db, name);
  }

  index(resource: string, fields: readonly string[]): void {
    this.opened?.indexer.want(resource, fields);
  }

  following(): { readonly ok: boolean; readonly reason: string } {
    return this.opened?.follower.health() ?? { ok: false, reason: 'the store is closed' };
  }

  writing(): { readonly ok: boolean; readonly reason: string } {
    return this.opened?.committer.state() ?? { ok: false, reason: 'the store is closed' };
  }

  private async *eventsAfter(
    after: Revision,
    signal: AbortSignal,
  ): AsyncGenerator<readonly LogEvent[], void, undefined> {
    const { follower } = this.store();
    if (after > follower.revision) {
      // Another replica may have written it, and the news may be on its way.
      const current = await this.currentRevision();
      if (after > current) throw tooLarge(after, current);
    }
    yield* follower.events(after, signal);
  }

  /** Politeness has its limits: where MongoDB does not answer, nothing waits for it. Undefined: it took longer. */
  private async soon<T>(work: Promise<T>, millis: number): Promise<T | undefined> {
    const controller = new AbortController();
    try {
      return await Promise.race([work, sleep(systemClock, millis, controller.signal).then(() => undefined)]);
    } finally {
      controller.abort();
    }
  }

  private async leave(work: Promise<unknown>, millis = GOODBYE_MILLIS): Promise<void> {
    await this.soon(
      work.catch(() => undefined),
      millis,
    );
  }

  private store(): Opened {
    if (this.opened === undefined || this.closing) throw closed();
    return this.opened;
  }

  private async answer<T>(question: Promise<T>): Promise<T> {
    try {
      return await question;
    } catch (error) {
      throw this.closing ? closed() : unavailable(error);
    }
  }

  private connection(): ConnectionOptions {
    const { uri, database, selectMillis = SELECT_MILLIS, traced } = this.options;
    return { uri, database, selectMillis, traced };
  }

  /** Collections, indexes and the format of the database. */
  private async prepare(store: Database): Promise<void> {
    const { db } = store;
    this.collections.clear();
    for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) this.collections.add(name);
    const { collection } = logPlace(store, this.options.log ?? MAIN_LOG);
    for (const name of [collection, META, WRITERS]) await this.ensureCollection(db, name);
    await db.collection(WRITERS).createIndex({ seen: 1 }, { expireAfterSeconds: WRITER_SECONDS }, {});
    const meta = db.collection<MetaDocument>(META);
    const format = await meta.findOneAndUpdate(
      { _id: 'format' },
      { $setOnInsert: { version: FORMAT } },
      { upsert: true, returnDocument: 'after' },
    );
    if (format?.version !== FORMAT && format?.version !== LAYOUT_FORMAT) {
      throw new StorageError(
        'unusable',
        `the MongoDB database ${this.options.database} has format ${String(format?.version)}, which this version does not know: use a newer one, or another database`,
      );
    }
  }

  private async ensureCollection(db: Db, name: string): Promise<void> {
    if (this.collections.has(name)) return;
    try {
      await db.createCollection(name);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === NAMESPACE_EXISTS)) throw error;
    }
    this.collections.add(name);
  }

  private async assemble(client: MongoClient, store: Database): Promise<Opened> {
    const { clock } = this;
    const { db } = store;
    const name = this.options.log ?? MAIN_LOG;
    const place = logPlace(store, name);
    const writer = randomUUID();
    const session = await this.join(client, store, writer);
    const heads = new Heads(HEAD_BYTES);
    const revision = await newestRevision(place);
    const history: History = new History({
      place,
      clock,
      historyMillis: this.options.historyMillis ?? HISTORY_MILLIS,
      revision: () => follower.revision,
      renew: () => session.renew(),
    });
    const follower = new LogFollower({
      client,
      place,
      clock,
      heads,
      revision,
      writer,
      oldest: () => history.oldest,
      failed: (error) => this.options.observer?.streamFailed?.(name, error),
    });
    const committer = new Committer({
      place,
      clock,
      appender: new Appender(place, session),
      follower,
      heads,
      session,
      writer,
      maxObjectBytes: this.options.maxObjectBytes ?? MAX_OBJECT_BYTES,
      writeMillis: this.options.writeMillis ?? WRITE_MILLIS,
      startedOver: () => this.options.observer?.startedOver?.(name),
      ensureCollection: (resource) => this.ensureCollection(db, stateCollection(resource)),
    });
    const indexer = this.indexer(db);
    await history.start();
    follower.start();
    const reader = new Reader(store);
    return { client, db, place, reader, heads, follower, committer, history, session, indexer };
  }

  /** Makes itself known to the other replicas, and agrees with them on the logs. */
  private async join(client: MongoClient, store: Database, writer: string): Promise<WriterSession> {
    const { database, log = MAIN_LOG, overrides = NO_OVERRIDES } = this.options;
    const session = new WriterSession({
      client,
      database,
      clock: this.clock,
      id: writer,
      log,
      layout: layoutText(overrides),
      connect: () => newClient(this.connection()),
    });
    await session.announce();
    try {
      if (log === MAIN_LOG) await new LogLayout({ ...store, database, overrides }).settle();
    } catch (error) {
      await session.close().catch(() => undefined);
      throw error;
    }
    return session;
  }

  private indexer(db: Db): Indexer {
    return new Indexer({
      clock: this.clock,
      collection: async (resource) => {
        await this.ensureCollection(db, stateCollection(resource));
        return statesOf(db, resource);
      },
      failed: (resource, error) => this.options.observer?.indexFailed?.(resource, error),
    });
  }
}
