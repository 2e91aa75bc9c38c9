import { randomUUID } from 'node:crypto';
import type { Db, MongoClient } from 'mongodb';
import { systemClock, type Clock } from '../../util/clock.js';
import { compacted, StorageError, tooLarge } from '../errors.js';
import type {
  Backend,
  EventStream,
  FieldIndexes,
  Health,
  ListOptions,
  LogEvent,
  Presence,
  Projection,
  Revision,
  RevisionConsumer,
  RevisionLookup,
  StagingArea,
  StoredList,
  StoredObject,
  StoreHealth,
  WriteRequest,
  WriteResult,
} from '../interfaces.js';
import { Appender } from './commit/appender.js';
import { Committer } from './commit/committer.js';
import { connect, classifyFailure, newClient, type ConnectionOptions, type Database } from './connection/connection.js';
import { FIRST_REVISION, logPlace, MAIN_LOG, metaOf, statesOf, WRITERS, type LogPlace } from './documents.js';
import { closed, unavailable } from './connection/failures.js';
import { withTimeout } from '../../util/with-timeout.js';
import { LogFollower } from './following/follower.js';
import { History } from './retention/history.js';
import { Indexer } from './projection/indexes.js';
import { layoutText, LogLayout } from './layout.js';
import { listAt, type ListRequest } from './reading/list.js';
import { batchWith, newestBatch, newestRevision } from './log/read.js';
import { Backlog } from './following/backlog.js';
import { Projector } from './projection/projector.js';
import { appendGap, projectedUpTo } from './retention/raise.js';
import { CurrentStates, Reader } from './reading/reader.js';
import type { MongoObserver } from './observer.js';
import { MongoPresence } from './presence.js';
import { MongoStaging } from './projection/staging.js';
import { redact } from './connection/redact.js';
import { KnownStates } from './following/known-states.js';
import { Writers } from './commit/writers.js';
import { messageOf } from '../../util/error-message.js';

export interface MongoOptions {
  /** The connection string of the replica set, with credentials and TLS options. */
  readonly uri: string;
  /** The database, used by this store only. */
  readonly database: string;
  readonly clock?: Clock;
  /** How long past states and the log are kept, in milliseconds. */
  readonly historyMillis?: number;
  readonly maxObjectBytes?: number;
  /** How long an operation waits for a primary, in milliseconds. */
  readonly selectMillis?: number;
  /** How long a write is retried while MongoDB does not respond, in milliseconds. */
  readonly writeMillis?: number;
  /** The name of this store's log; other logs of the same database order other types. The main log by default. */
  readonly log?: string;
  /** The types whose log is not the main one; the same for all logs of a database. */
  readonly overrides?: ReadonlyMap<string, string>;
  readonly observer?: MongoObserver;
  /** True if commands are traced as spans of the requests that send them. */
  readonly traced?: boolean;
}

interface Opened {
  readonly client: MongoClient;
  readonly db: Db;
  readonly place: LogPlace;
  readonly reader: Reader;
  readonly backlog: Backlog;
  readonly projector: Projector;
  readonly follower: LogFollower;
  readonly committer: Committer;
  readonly history: History;
  readonly writers: Writers;
  readonly indexer: Indexer;
}

const FORMAT = 5;
const HISTORY_MILLIS = 5 * 60_000;
/** A batch holds the states before and after a write in one document, which may have 16 MiB. */
const MAX_OBJECT_BYTES = (8 << 20) - (64 << 10);
const HEAD_BYTES = 32 << 20;
const SELECT_MILLIS = 5_000;
const WRITE_MILLIS = 20_000;
/** The timeout that kube-apiserver sets for its store. */
const PING_MILLIS = 2_000;
/** The maximum time that closing the store waits for writes. */
const LAST_WRITES_MILLIS = 3_000;
/** The maximum time that closing the store waits for each background task. */
const SHUTDOWN_MILLIS = 1_000;
const CLOSED: Health = { ok: false, reason: 'the store is closed' };
const NO_OVERRIDES: ReadonlyMap<string, string> = new Map();
/** The time after which the documents of replicas that ended without removing them expire. */
const WRITER_SECONDS = 3_600;

/** The store in MongoDB, shared by any number of replicas. */
export class MongoBackend implements Backend {
  private opened: Opened | undefined;
  private closing = false;
  private readonly clock: Clock;
  private revisionLookup: RevisionLookup = () => undefined;

  readonly health = {
    ping: () => this.ping(),
    writing: (): Health => this.opened?.committer.state() ?? CLOSED,
    following: (): Health => this.opened?.follower.health() ?? CLOSED,
  } satisfies StoreHealth;
  readonly staging: StagingArea = {
    copy: (name) => {
      const { db, projector } = this.store();
      return new MongoStaging(db, name, async () => projector.settled(await this.currentRevision()));
    },
  };
  readonly presence: Presence;
  readonly projection: Projection = {
    lag: () => {
      if (this.opened === undefined) return undefined;
      const { millis, objects } = this.opened.backlog.lag;
      return { seconds: millis / 1_000, objects };
    },
  };
  readonly indexes: FieldIndexes = { keep: (resource, fields) => this.opened?.indexer.want(resource, fields) };
  readonly knownRevisions: RevisionConsumer = { consult: (known) => (this.revisionLookup = known) };
  readonly localStates = undefined;
  readonly routing = undefined;

  constructor(private readonly options: MongoOptions) {
    this.clock = options.clock ?? systemClock;
    this.presence = new MongoPresence(() => this.store().db, this.clock);
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
      throw new StorageError(classifyFailure(error), redact(message, uri));
    }
  }

  async close(): Promise<void> {
    const { opened } = this;
    if (opened === undefined || this.closing) return;
    this.closing = true;
    await this.awaitShutdown(opened.committer.idle(), LAST_WRITES_MILLIS);
    opened.committer.stop();
    const { indexer, history, follower, projector, writers, client } = opened;
    await this.awaitShutdown(Promise.all([indexer.stop(), history.stop(), follower.stop(), projector.stop()]));
    await this.awaitShutdown(writers.close());
    this.opened = undefined;
    await this.awaitShutdown(client.close());
  }

  write(request: WriteRequest): Promise<WriteResult> {
    if (this.opened === undefined || this.closing) return Promise.reject(closed());
    return this.opened.committer.write(request);
  }

  async get(resource: string, key: string): Promise<StoredObject | undefined> {
    const { reader } = this.store();
    return this.answer(reader.get(resource, key));
  }

  list(resource: string, options: ListOptions): Promise<StoredList> {
    return this.listed({ resource, options });
  }

  /** Visits the objects of a type in its newest state, and returns the revision. */
  async walk(resource: string, visit: (object: StoredObject) => void): Promise<Revision> {
    const options = { prefix: '', from: '', limit: 0, revision: 0 };
    return (await this.listed({ resource, options, visit })).revision;
  }

  /** Returns the unique name of the batch that contains a revision, or undefined if the log no longer has it. */
  batchAt(revision: Revision): Promise<string | undefined> {
    const { place } = this.store();
    return this.answer(batchWith(place, revision));
  }

  async currentRevision(): Promise<Revision> {
    const { place, committer } = this.store();
    const acknowledged = committer.acknowledged;
    const newest = await this.answer(newestRevision(place));
    if (newest < acknowledged) {
      const message = `MongoDB returned revision ${newest}, but revision ${acknowledged} was already committed`;
      throw new StorageError('unavailable', message);
    }
    return newest;
  }

  /** Other replicas may have written since. */
  revisionNow(): undefined {
    return undefined;
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
    return this.eventsAfter(after, signal);
  }

  async compact(revision: Revision): Promise<void> {
    const { history } = this.store();
    const current = await this.currentRevision();
    if (revision > current) throw tooLarge(revision, current);
    await this.answer(history.forget(revision));
  }

  private async ping(): Promise<void> {
    const { place } = this.store();
    const late = `MongoDB has not answered for ${PING_MILLIS / 1000} s`;
    const answer = this.answer(newestRevision(place));
    await withTimeout(systemClock, PING_MILLIS, answer, () => new StorageError('unavailable', late));
  }

  async raise(above: Revision): Promise<void> {
    const { place, follower, history } = this.store();
    const { last } = await this.answer(appendGap(place, above, this.clock, this.historyMillis));
    await this.answer(follower.catchUp().then(() => history.forget(last)));
  }

  private async *eventsAfter(
    after: Revision,
    signal: AbortSignal,
  ): AsyncGenerator<readonly LogEvent[], void, undefined> {
    const { follower } = this.store();
    if (after > follower.revision) {
      // Another replica may have written it, and its events may not have arrived yet.
      const current = await this.currentRevision();
      if (after > current) throw tooLarge(after, current);
    }
    yield* follower.events(after, signal);
  }

  /** Waits for the end of some work with a time limit, because MongoDB may not respond. */
  private async awaitShutdown(work: Promise<unknown>, millis = SHUTDOWN_MILLIS): Promise<void> {
    await withTimeout(systemClock, millis, work).catch(() => undefined);
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

  private async listed(wanted: Pick<ListRequest, 'resource' | 'options' | 'visit'>): Promise<StoredList> {
    const { client, place, backlog, follower, history } = this.store();
    const { oldest } = history;
    return this.answer(listAt({ ...wanted, client, place, clock: this.clock, backlog, follower, oldest }));
  }

  private connection(): ConnectionOptions {
    const { uri, database, selectMillis = SELECT_MILLIS, traced } = this.options;
    return { uri, database, selectMillis, traced };
  }

  private get historyMillis(): number {
    return this.options.historyMillis ?? HISTORY_MILLIS;
  }

  /** Sets or checks the format of the database, and creates the TTL index of the writers. */
  private async prepare({ db }: Database): Promise<void> {
    const format = await metaOf(db).findOneAndUpdate(
      { _id: 'format' },
      { $setOnInsert: { version: FORMAT } },
      { upsert: true, returnDocument: 'after' },
    );
    if (format?.version !== FORMAT) {
      throw new StorageError(
        'unusable',
        `the MongoDB database ${this.options.database} has format ${String(format?.version)}, which this version of Annex does not support: use another version, or another database`,
      );
    }
    await db.collection(WRITERS).createIndex({ seen: 1 }, { expireAfterSeconds: WRITER_SECONDS }, {});
  }

  private async assemble(client: MongoClient, store: Database): Promise<Opened> {
    const { clock, historyMillis } = this;
    const name = this.options.log ?? MAIN_LOG;
    const place = logPlace(store, name);
    const writer = randomUUID();
    const writers = await this.join(client, store, writer);
    const revision = await projectedUpTo(place);
    const newest = await newestBatch(place);
    const known = new KnownStates(HEAD_BYTES, revision, (resource, key) => this.revisionLookup(resource, key));
    const backlog = new Backlog(clock);
    const follower = new LogFollower({
      client,
      place,
      clock,
      known,
      backlog,
      revision,
      head: newest?.last === revision ? newest : undefined,
      writer,
      historyMillis,
      oldest: () => history.oldest,
      onCompacted: (before) => history.lost(before),
      failed: (error) => this.options.observer?.streamFailed(name, error),
    });
    const failed = (error: unknown): void => this.options.observer?.projectionFailed(name, error);
    const projector = new Projector({ place, clock, backlog, writer, failed });
    const renew = (): Promise<void> => writers.announce();
    const history: History = new History({ place, clock, historyMillis, follower, backlog, projector, renew });
    const current = new CurrentStates({ place, follower, backlog });
    const committer = new Committer({
      clock,
      appender: new Appender({ place, writers, historyMillis }),
      follower,
      known,
      current,
      projector,
      writers,
      writer,
      historyMillis,
      maxObjectBytes: this.options.maxObjectBytes ?? MAX_OBJECT_BYTES,
      writeMillis: this.options.writeMillis ?? WRITE_MILLIS,
      onStartOver: () => this.options.observer?.startedOver(name),
    });
    await history.start();
    await follower.catchUp();
    follower.start();
    projector.start();
    const indexer = this.indexer(store.db);
    const reader = new Reader(current);
    const { db } = store;
    return { client, db, place, reader, backlog, projector, follower, committer, history, writers, indexer };
  }

  /** Registers this replica, and agrees with the others on the logs. */
  private async join(client: MongoClient, store: Database, writer: string): Promise<Writers> {
    const { clock, historyMillis } = this;
    const { database, log = MAIN_LOG, overrides = NO_OVERRIDES } = this.options;
    const layout = layoutText(overrides);
    const connect = (): MongoClient => newClient(this.connection());
    const writers = new Writers({ client, database, clock, id: writer, log, layout, connect });
    await writers.announce();
    try {
      if (log === MAIN_LOG) await new LogLayout({ ...store, database, clock, historyMillis, overrides }).settle();
    } catch (error) {
      await writers.close().catch(() => undefined);
      throw error;
    }
    return writers;
  }

  private indexer(db: Db): Indexer {
    return new Indexer({
      clock: this.clock,
      collection: (resource) => statesOf(db, resource),
      failed: (resource, error) => this.options.observer?.indexFailed(resource, error),
    });
  }
}
