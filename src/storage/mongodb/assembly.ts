import { randomUUID } from 'node:crypto';
import type { Db, MongoClient } from 'mongodb';
import type { Clock } from '../../util/clock.js';
import { StorageError } from '../errors.js';
import type { Revision, RevisionLookup } from '../interfaces.js';
import { Appender } from './commit/appender.js';
import { refuseBegunRestore } from './begun-restore.js';
import { Committer } from './commit/committer.js';
import { Writers } from './commit/writers.js';
import { newClient, type ConnectionOptions, type Database } from './connection/connection.js';
import { logPlace, MAIN_LOG, metaOf, statesOf, WRITERS, type LogPlace } from './documents.js';
import { Backlog } from './following/backlog.js';
import { Continuity } from './following/continuity.js';
import { LogFollower } from './following/follower.js';
import { KnownStates } from './following/known-states.js';
import { layoutText, LogLayout } from './layout.js';
import { newestBatch } from './log/read.js';
import type { MongoOptions } from './options.js';
import { claimDatabase } from './owner-cluster.js';
import { Indexer } from './projection/indexes.js';
import { Projector } from './projection/projector.js';
import { CurrentStates, Reader } from './reading/reader.js';
import { requireCompleteLog } from './retention/complete.js';
import { History } from './retention/history.js';
import { projectedUpTo, raiseUnfollowed } from './retention/raise.js';

/** A log that is followed and written to, and everything that does so. */
export interface Opened {
  readonly client: MongoClient;
  readonly db: Db;
  readonly latest: Database['latest'];
  readonly place: LogPlace;
  readonly reader: Reader;
  readonly backlog: Backlog;
  readonly projector: Projector;
  readonly follower: LogFollower;
  readonly continuity: Continuity;
  readonly committer: Committer;
  readonly history: History;
  readonly writers: Writers;
  readonly writer: string;
  readonly indexer: Indexer;
}

export interface AssemblyOptions {
  readonly store: Database & { readonly client: MongoClient };
  readonly options: MongoOptions;
  readonly connection: ConnectionOptions;
  readonly clock: Clock;
  readonly historyMillis: number;
  /** The log continues above this revision, and everything before is compacted; undefined: it continues where it ends. */
  readonly above?: Revision;
  readonly lookUpRevision: RevisionLookup;
  /** Called when the log is found to be another one than before. */
  readonly onReplaced: (reason: string) => void;
}

export const FORMAT = 5;
/** A batch holds the states before and after a write in one document, which may have 16 MiB. */
const MAX_OBJECT_BYTES = (8 << 20) - (64 << 10);
const HEAD_BYTES = 32 << 20;
const WRITE_MILLIS = 20_000;
const NO_OVERRIDES: ReadonlyMap<string, string> = new Map();
/** The time after which the documents of replicas that ended without removing them expire. */
const WRITER_SECONDS = 3_600;

/** Sets or checks the format and the owner of the database, and creates the TTL index of the writers. */
export async function prepare(db: Db, { cluster, log = MAIN_LOG }: MongoOptions): Promise<void> {
  await refuseBegunRestore(db);
  const format = await metaOf(db).findOneAndUpdate(
    { _id: 'format' },
    { $setOnInsert: { version: FORMAT } },
    { upsert: true, returnDocument: 'after' },
  );
  checkFormat(db, format?.version);
  if (cluster !== undefined && log === MAIN_LOG) await claimDatabase(db, cluster);
  await db.collection(WRITERS).createIndex({ seen: 1 }, { expireAfterSeconds: WRITER_SECONDS }, {});
}

/** Throws StorageError 'unusable' if the database has no store that this version can read. */
export async function requireFormat(db: Db): Promise<void> {
  const format = await metaOf(db).findOne({ _id: 'format' });
  if (format === null) {
    await refuseBegunRestore(db);
    throw new StorageError('unusable', `the MongoDB database ${db.databaseName} has no store of Annex`);
  }
  checkFormat(db, format.version);
}

function checkFormat(db: Db, version: number | undefined): void {
  if (version === FORMAT) return;
  throw new StorageError(
    'unusable',
    `the MongoDB database ${db.databaseName} has format ${String(version)}, which this version of Annex does not support: use another version, or another database`,
  );
}

/** Loads what the log says, and begins to follow it. The database must be prepared. */
export async function assemble(assembly: AssemblyOptions): Promise<Opened> {
  const { store, options, clock, historyMillis, above } = assembly;
  const { overrides = NO_OVERRIDES, continueAbove = 0 } = options;
  const place = logPlace(store, options.log ?? MAIN_LOG);
  const writer = randomUUID();
  const writers = await join(assembly, writer);
  try {
    await requireCompleteLog({ place, clock, historyMillis, overrides, continueAbove });
    if (above !== undefined) await raiseUnfollowed(place, above, clock, historyMillis);
    return await start(assembly, place, { writer, writers });
  } catch (error) {
    await writers.close().catch(() => undefined);
    throw error;
  }
}

/** Registers this replica, and agrees with the others on the logs. */
async function join(
  { store, options, connection, clock, historyMillis }: AssemblyOptions,
  writer: string,
): Promise<Writers> {
  const { database, log = MAIN_LOG, overrides = NO_OVERRIDES } = options;
  const layout = layoutText(overrides);
  const connect = (): MongoClient => newClient(connection);
  const writers = new Writers({ client: store.client, database, clock, id: writer, log, layout, connect });
  await writers.announce();
  try {
    // A restore that has begun since either finds this replica, or is found here.
    await refuseBegunRestore(store.db);
    if (log === MAIN_LOG) await new LogLayout({ ...store, database, clock, historyMillis, overrides }).settle();
  } catch (error) {
    await writers.close().catch(() => undefined);
    throw error;
  }
  return writers;
}

async function start(
  assembly: AssemblyOptions,
  place: LogPlace,
  { writer, writers }: Pick<Opened, 'writer' | 'writers'>,
): Promise<Opened> {
  const { store, options, clock, historyMillis, lookUpRevision, onReplaced } = assembly;
  const { client, db, latest } = store;
  const { name } = place;
  const { observer, maxObjectBytes = MAX_OBJECT_BYTES, writeMillis = WRITE_MILLIS } = options;
  const revision = await projectedUpTo(place);
  const newest = await newestBatch(place);
  const known = new KnownStates(HEAD_BYTES, revision, lookUpRevision);
  const backlog = new Backlog(clock);
  const follower: LogFollower = new LogFollower({
    ...{ client, place, clock, known, backlog, revision, writer, historyMillis },
    head: newest?.last === revision ? newest : undefined,
    oldest: () => history.oldest,
    onCompacted: (before) => history.lost(before),
    onDropped: () => onReplaced(`the collection ${place.collection} was dropped or renamed`),
    failed: (error) => observer?.streamFailed(name, error),
  });
  const continuity = new Continuity({ place, follower, onReplaced });
  const projector = new Projector({
    ...{ place, clock, backlog, writer },
    failed: (error) => observer?.projectionFailed(name, error),
  });
  const history: History = new History({
    ...{ place, clock, historyMillis, follower, backlog, projector },
    check: () => continuity.check(),
    renew: () => writers.announce(),
  });
  const current = new CurrentStates({ place, follower, backlog });
  const committer = new Committer({
    ...{ clock, follower, known, current, projector, writers, writer, historyMillis, maxObjectBytes, writeMillis },
    appender: new Appender({ place, writers, historyMillis }),
    outage: options.outage,
    onStartOver: () => observer?.startedOver(name),
  });
  await follower.catchUp();
  await continuity.check();
  await history.start();
  follower.start();
  projector.start();
  const indexer = indexerOf(db, assembly);
  const work = {
    reader: new Reader(current),
    backlog,
    projector,
    follower,
    continuity,
    committer,
    history,
    writers,
    writer,
    indexer,
  };
  return { client, db, latest, place, ...work };
}

function indexerOf(db: Db, { clock, options: { observer } }: AssemblyOptions): Indexer {
  return new Indexer({
    clock,
    collection: (resource) => statesOf(db, resource),
    failed: (resource, error) => observer?.indexFailed(resource, error),
  });
}
