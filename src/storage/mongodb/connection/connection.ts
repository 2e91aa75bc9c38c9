import os from 'node:os';
import {
  MongoClient,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
  type Db,
  type Document,
  type MongoClientOptions,
  type ReadConcernLike,
  type ServerDescription,
} from 'mongodb';
import { errorCode, StorageError } from '../../errors.js';
import { traceCommands } from './commands.js';
import { missingCapability } from './capabilities.js';
import { isTransient } from './failures.js';
import { redact } from './redact.js';
import { missingActions } from './rights.js';
import { refusedUriOption, uriOptions } from './uri-options.js';
import { messageOf } from '../../../util/error-message.js';

/** A database, and how to read it if no acknowledged write may be missing. */
export interface Database {
  readonly db: Db;
  readonly latest: LatestReads;
}

export interface ConnectionOptions {
  readonly uri: string;
  readonly database: string;
  /** How long an operation waits for a primary, in milliseconds. */
  readonly selectMillis: number;
  /** True if commands are traced as spans of the requests that send them. */
  readonly traced?: boolean | undefined;
}

/** MongoDB 5.0, for snapshot reads outside transactions, and names with dots and dollars. */
const OLDEST_WIRE_VERSION = 13;
const OLDEST = '5.0';
const AUTHENTICATION_FAILED = 18;
const UNAUTHORIZED = 13;

const CLIENT_OPTIONS: MongoClientOptions = {
  appName: 'annex',
  // Otherwise the driver imports it lazily, which some environments do not allow.
  runtimeAdapters: { os },
  promoteBuffers: true,
  ignoreUndefined: true,
  readPreference: 'primary',
  readConcern: { level: 'majority' },
  writeConcern: { w: 'majority', journal: true },
  retryWrites: true,
  retryReads: true,
  connectTimeoutMS: 5_000,
  socketTimeoutMS: 30_000,
  heartbeatFrequencyMS: 2_000,
  maxPoolSize: 32,
};

/** The options that the URI may override, about timeouts and connections (uri-options.ts has all that it may say). */
const TUNABLE = new Set([
  'appName',
  'connectTimeoutMS',
  'socketTimeoutMS',
  'serverSelectionTimeoutMS',
  'heartbeatFrequencyMS',
  'maxPoolSize',
]);

/** The change stream has its own connection, commits and the projection run concurrently, and other reads need one, too. */
const LEAST_CONNECTIONS = 4;

function clientOptions(uri: string, selectMillis: number): MongoClientOptions {
  const named = new Map([...uriOptions(uri)].map(([name, value]) => [name.toLowerCase(), value]));
  const options = { ...CLIENT_OPTIONS, serverSelectionTimeoutMS: selectMillis };
  const wanted = Object.entries(options).filter(([name]) => !TUNABLE.has(name) || !named.has(name.toLowerCase()));
  const connections = Number(named.get('maxpoolsize'));
  if (connections > 0 && connections < LEAST_CONNECTIONS) wanted.push(['maxPoolSize', LEAST_CONNECTIONS]);
  return Object.fromEntries(wanted);
}

/** Returns a client that connects on first use. */
export function newClient({ uri, selectMillis, traced = false }: ConnectionOptions): MongoClient {
  const client = new MongoClient(uri, { ...clientOptions(uri, selectMillis), monitorCommands: traced });
  if (traced) traceCommands(client);
  return client;
}

/** Connects, and checks that the deployment can be used. The error is one line that says what to do. */
export async function connect(options: ConnectionOptions): Promise<Database & { readonly client: MongoClient }> {
  const { uri } = options;
  let client: MongoClient;
  try {
    client = newClient(options);
  } catch (error) {
    throw new StorageError('unusable', redact(`the MongoDB URI is malformed: ${messageOf(error)}`, uri));
  }
  const refused = refusedUriOption(uri);
  if (refused !== undefined) throw new StorageError('unusable', redact(refused, uri));
  try {
    const db = client.db(options.database);
    const latest = new LatestReads(client);
    await client.connect();
    await checkDeployment(db, addressOf(client));
    return { client, db, latest };
  } catch (error) {
    await client.close().catch(() => undefined);
    const message = error instanceof StorageError ? error.message : explain(error, addressOf(client));
    throw new StorageError(classifyFailure(error), redact(message, uri));
  }
}

async function checkDeployment(db: Db, address: string): Promise<void> {
  const hello = await db.command({ hello: 1 });
  checkReplicaSet(hello, address);
  // Fails, too, if authentication is required and the URI has no credentials.
  await db.command({ listCollections: 1, nameOnly: true, authorizedCollections: true });
  const actions = await missingActions(db);
  if (actions.length > 0) {
    const what = `may not ${actions.join(', ')} in the database ${db.databaseName}`;
    throw new StorageError(
      'unusable',
      `MongoDB at ${address}: the user of the MongoDB URI ${what}; grant it readWrite`,
    );
  }
  const capability = await missingCapability(db, hello);
  if (capability !== undefined)
    throw new StorageError('unusable', `MongoDB at ${address} does not support ${capability}, which Annex needs`);
}

function checkReplicaSet(hello: Document, address: string): void {
  const wire: unknown = hello['maxWireVersion'];
  if (typeof wire !== 'number' || wire < OLDEST_WIRE_VERSION) {
    throw new StorageError('unusable', `MongoDB at ${address} is too old: the minimum version is ${OLDEST}`);
  }
  if (hello['setName'] === undefined && hello['msg'] !== 'isdbgrid') {
    throw new StorageError(
      'unusable',
      `MongoDB at ${address} is not a replica set, which Annex needs: start it with --replSet and run rs.initiate() (one member is enough)`,
    );
  }
  if (hello['operationTime'] === undefined)
    throw new StorageError('unusable', `MongoDB at ${address} does not return operationTime in its replies`);
}

/** Resolver errors that may be temporary: the DNS of a cluster may still be starting. */
const RESOLVER = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ESERVFAIL', 'ETIMEOUT', 'ECONNREFUSED', 'ENODATA']);
/** Returns 'unavailable' if waiting may help because MongoDB is down or has no primary, 'unusable' if it responds and refuses. */
export function classifyFailure(error: unknown): 'unavailable' | 'unusable' {
  if (error instanceof StorageError) return error.code === 'unavailable' ? 'unavailable' : 'unusable';
  if (error instanceof MongoError && error.message.includes('maximum wire version')) return 'unusable';
  if (error instanceof MongoServerSelectionError || error instanceof MongoNetworkError) return 'unavailable';
  const code = errorCode(error);
  if (error instanceof MongoServerError) return isTransient(code) ? 'unavailable' : 'unusable';
  // Errors of the driver itself: the pool was cleared, or the topology was closed.
  if (error instanceof MongoError && error.hasErrorLabel('RetryableWriteError')) return 'unavailable';
  return typeof code === 'string' && RESOLVER.has(code) ? 'unavailable' : 'unusable';
}

function explain(error: unknown, address: string): string {
  const message = messageOf(error);
  if (error instanceof MongoServerError && error.code === AUTHENTICATION_FAILED) {
    return `MongoDB at ${address} rejected the credentials in the MongoDB URI: ${message}`;
  }
  if (error instanceof MongoServerError && error.code === UNAUTHORIZED) {
    return `MongoDB at ${address} does not allow the user of the MongoDB URI to use the database: ${message}`;
  }
  if (error instanceof MongoError && message.includes('maximum wire version')) {
    return `MongoDB at ${address} is too old: the minimum version is ${OLDEST}`;
  }
  if (error instanceof MongoServerSelectionError || error instanceof MongoNetworkError) {
    return `MongoDB at ${address} cannot be reached, or its replica set has no primary: ${message}`;
  }
  return `MongoDB at ${address} cannot be used: ${message}`;
}

function addressOf(client: MongoClient): string {
  return client.options.srvHost ?? client.options.hosts.map((host) => host.toString()).join(',');
}

const WRITABLE: ReadonlySet<string> = new Set(['RSPrimary', 'Mongos', 'LoadBalancer']);
/** The maximum time of a read: without a majority, a linearizable read never returns. */
const READ_MILLIS = 10_000;

/**
 * The options of reads that must include everything that any replica of Annex has acknowledged. After an election a majority read may not:
 * the new primary may not know yet what a majority has, and the old one may not know that it was deposed. A linearizable read asks the
 * other members, at the cost of a no-op in the oplog. With a single member, a majority read is enough.
 */
class LatestReads {
  private alone = false;
  /** True if there is a primary, as far as the driver knows. */
  hasPrimary = true;

  constructor(client: MongoClient) {
    client.on('topologyDescriptionChanged', ({ newDescription }) => {
      const servers = [...newDescription.servers.values()];
      this.alone = servers.some(isAlone);
      this.hasPrimary = servers.some(({ type }) => WRITABLE.has(type));
    });
  }

  /** The options for a read from the primary. */
  get options(): { readonly readConcern: ReadConcernLike; readonly maxTimeMS: number } {
    return { readConcern: { level: this.alone ? 'majority' : 'linearizable' }, maxTimeMS: READ_MILLIS };
  }
}

function isAlone({ type, hosts, passives, arbiters }: ServerDescription): boolean {
  return type === 'RSPrimary' && hosts.length + passives.length + arbiters.length === 1;
}
