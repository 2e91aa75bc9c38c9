import { systemClock, type Clock } from '../../util/clock.js';
import { withTimeout } from '../../util/with-timeout.js';
import { messageOf } from '../../util/error-message.js';
import { compacted, StorageError, tooLarge } from '../errors.js';
import { isLogIdentity } from '../log-identity.js';
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
import { assemble, prepare, type AssemblyOptions, type Opened } from './assembly.js';
import { connect, classifyFailure, type ConnectionOptions } from './connection/connection.js';
import { closed, unavailable } from './connection/failures.js';
import { redact } from './connection/redact.js';
import { FIRST_REVISION, MAIN_LOG, metaOf, projectedId } from './documents.js';
import { batchWith, newestRevision } from './log/read.js';
import type { MongoOptions } from './options.js';
import { MongoPresence } from './presence.js';
import { MongoStaging } from './projection/staging.js';
import { listAt, type ListRequest } from './reading/list.js';
import { awaitRestore } from './restoration.js';
import { appendGap } from './retention/raise.js';

const HISTORY_MILLIS = 5 * 60_000;
const SELECT_MILLIS = 5_000;
/** The timeout that kube-apiserver sets for its store. */
const PING_MILLIS = 2_000;
/** The maximum time that closing the store waits for writes. */
const LAST_WRITES_MILLIS = 3_000;
/** The maximum time that closing the store waits for each background task. */
const SHUTDOWN_MILLIS = 1_000;
const SAME: Health = { ok: true, reason: '' };
const REPLACED =
  'the log in MongoDB was dropped or replaced, as by a restore; nothing is read or written until the database is complete again';
const CLOSED: Health = { ok: false, reason: 'the store is closed' };

/** The store in MongoDB, shared by any number of replicas. */
export class MongoBackend implements Backend {
  private opened: Opened | undefined;
  private closing = false;
  /** Why the store cannot be used although it is open: its log was replaced; undefined if it can. */
  private halted: string | undefined;
  private halting = new AbortController();
  /** Whether somebody follows the log, and is behind: what it shows is from before the log was replaced, and writes would rest on that. */
  private reader: 'none' | 'following' | 'behind' = 'none';
  private resuming: Promise<void> | undefined;
  private readonly wantedIndexes = new Map<string, readonly string[]>();
  private readonly clock: Clock;
  private revisionLookup: RevisionLookup = () => undefined;

  readonly health = {
    ping: () => this.ping(),
    writing: () => this.writing(),
    following: () => this.following(),
    same: () => this.halt() ?? (this.reader === 'behind' ? { ok: false, reason: REPLACED } : SAME),
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
  readonly indexes: FieldIndexes = {
    keep: (resource, fields) => {
      this.wantedIndexes.set(resource, fields);
      this.opened?.indexer.want(resource, fields);
    },
  };
  readonly knownRevisions: RevisionConsumer = { consult: (known) => (this.revisionLookup = known) };
  readonly localStates = undefined;
  readonly routing = undefined;
  readonly kept = undefined;

  constructor(private readonly options: MongoOptions) {
    this.clock = options.clock ?? systemClock;
    this.presence = new MongoPresence(() => this.store().db, this.clock);
  }

  async open(): Promise<void> {
    const { uri, database } = this.options;
    const store = await connect(this.connection());
    try {
      await prepare(store.db, this.options);
      this.opened = await assemble(this.assembly(store));
      this.halting = new AbortController();
      this.halted = undefined;
      this.closing = false;
    } catch (error) {
      await store.client.close();
      if (error instanceof StorageError) throw error;
      const message = `the MongoDB database ${database} cannot be used: ${messageOf(error)}`;
      throw new StorageError(classifyFailure(error), redact(message, uri));
    }
  }

  async close(): Promise<void> {
    const { opened } = this;
    if (opened === undefined || this.closing) return;
    this.closing = true;
    this.halting.abort();
    await this.awaitShutdown(this.resuming ?? Promise.resolve());
    await this.awaitShutdown(opened.committer.idle(), LAST_WRITES_MILLIS);
    opened.committer.stop();
    const { indexer, history, follower, projector, writers, client } = opened;
    await this.awaitShutdown(Promise.all([indexer.stop(), history.stop(), follower.stop(), projector.stop()]));
    await this.awaitShutdown(writers.close());
    this.opened = undefined;
    await this.awaitShutdown(client.close());
  }

  write(request: WriteRequest): Promise<WriteResult> {
    try {
      const { committer } = this.store();
      // The reader asks for the identity before it shows the new log.
      if (this.reader === 'behind' && !isLogIdentity(request.resource)) throw new StorageError('unavailable', REPLACED);
      return committer.write(request);
    } catch (error) {
      return Promise.reject(unavailable(error));
    }
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
    const { place, committer, follower, continuity } = this.store();
    const committed = Math.max(committer.acknowledged, follower.revision);
    const newest = await this.answer(newestRevision(place));
    if (newest < committed) {
      await this.answer(continuity.checkEnd(committed));
      const message = `MongoDB returned revision ${newest}, but revision ${committed} was already committed`;
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
    this.reader = 'following';
    return this.eventsAfter(after, signal);
  }

  async compact(revision: Revision): Promise<void> {
    const { history } = this.store();
    const current = await this.currentRevision();
    if (revision > current) throw tooLarge(revision, current);
    await this.answer(history.forget(revision));
  }

  private async ping(): Promise<void> {
    const late = `MongoDB has not answered for ${PING_MILLIS / 1000} s`;
    await withTimeout(systemClock, PING_MILLIS, this.currentRevision(), () => new StorageError('unavailable', late));
  }

  async raise(above: Revision): Promise<void> {
    const { place, follower, history } = this.store();
    const { last } = await this.answer(appendGap(place, above, this.clock, this.historyMillis));
    await this.answer(follower.catchUp().then(() => history.forget(last)));
  }

  private following(): Health {
    return this.halt() ?? this.opened?.follower.health() ?? CLOSED;
  }

  private writing(): Health {
    if (this.halted === undefined && this.reader === 'behind') return { ok: false, reason: REPLACED };
    return this.halt() ?? this.opened?.committer.state() ?? CLOSED;
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

  private halt(): Health | undefined {
    return this.halted === undefined ? undefined : { ok: false, reason: this.halted };
  }

  private store(): Opened {
    if (this.opened === undefined || this.closing) throw closed();
    if (this.halted !== undefined) throw new StorageError('unavailable', this.halted);
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

  private assembly(store: AssemblyOptions['store']): AssemblyOptions {
    const { options, clock, historyMillis } = this;
    const lookUpRevision: RevisionLookup = (resource, key) => this.revisionLookup(resource, key);
    const connection = this.connection();
    const onReplaced = (reason: string): void => this.replaced(reason);
    return { store, options, connection, clock, historyMillis, lookUpRevision, onReplaced };
  }

  /** Stops everything at once, because the log is not the one that was followed, until the database is complete again. */
  private replaced(reason: string): void {
    const { opened } = this;
    if (opened === undefined || this.closing || this.halted !== undefined) return;
    this.halted = `${REPLACED} (${reason})`;
    this.options.observer?.halted(this.options.log ?? MAIN_LOG, this.halted);
    const { committer, follower, backlog } = opened;
    const above = Math.max(follower.revision, committer.acknowledged);
    committer.stop();
    // What only the former log had must not get among the objects of the new one.
    backlog.clear();
    this.resuming = this.resumeAbove(opened, above).finally(() => (this.resuming = undefined));
  }

  /** Revisions above the former end are new to every client, so that none takes a state of the new log for one of the former. */
  private async resumeAbove(former: Opened, above: Revision): Promise<void> {
    const { clock, options } = this;
    const { client, db, latest, place, follower, history, projector, indexer, writers, writer } = former;
    const error = new StorageError('unavailable', REPLACED);
    await Promise.allSettled([indexer.stop(), history.stop(), follower.stop(error), projector.stop()]);
    const log = options.log ?? MAIN_LOG;
    const resume = async (): Promise<void> => {
      // Written after the log was replaced, it would claim too much. Without it, batches are only projected again.
      await metaOf(db).deleteOne({ _id: projectedId(writer) });
      await prepare(db, options);
      const opened = await assemble({ ...this.assembly({ client, db, latest }), above });
      this.opened = opened;
      for (const [resource, fields] of this.wantedIndexes) opened.indexer.want(resource, fields);
      if (this.reader === 'following') this.reader = 'behind';
      this.halted = undefined;
      options.observer?.resumed(log);
      await writers.close().catch(() => undefined);
    };
    const waits = (reason: string): void => {
      if (this.halted === reason) return;
      this.halted = reason;
      options.observer?.halted(log, reason);
    };
    await awaitRestore({ db, place, clock, signal: this.halting.signal, resume, waits });
  }
}
