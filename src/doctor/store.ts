import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Document } from 'mongodb';
import { checkDirectory } from '../storage/embedded/directory.js';
import { isInUse } from '../storage/directory-lock.js';
import { EmbeddedBackend } from '../storage/embedded/backend.js';
import { redact } from '../storage/mongodb/connection/redact.js';
import type { Database } from '../storage/mongodb/connection/connection.js';
import { logOverrides, mongodbUri, type StorageOptions, embeddedDirectory } from '../server/options/storage-options.js';
import type { Clock } from '../util/clock.js';
import { messageOf } from '../util/error-message.js';
import { type Finding, ok, skipped, failed } from './finding.js';

const CHECK = 'store';
const OWNER = 'owner of the store';
const SELECT_MILLIS = 5_000;

/** Checks whether the store that the flags name can be used. Nothing is created or changed in it. */
export function checkStore(options: StorageOptions, clock: Clock): Promise<Finding> {
  return options.storageBackend === 'mongodb' ? checkMongo(options) : checkEmbedded(options, clock);
}

async function checkEmbedded(options: StorageOptions, clock: Clock): Promise<Finding> {
  const directory = embeddedDirectory(options);
  try {
    checkDirectory(directory);
    if (!existsSync(directory)) {
      accessSync(existing(directory), constants.W_OK);
      return ok(CHECK, `${directory}, created at the first start`);
    }
    accessSync(directory, constants.W_OK);
  } catch (error) {
    return failed(
      CHECK,
      error,
      'set --data-dir to a directory that this user can write and that is empty or was created by Annex',
    );
  }
  return ping(directory, options, clock);
}

async function ping(directory: string, options: StorageOptions, clock: Clock): Promise<Finding> {
  try {
    return await withEmbeddedStore(options, clock, async (backend) => {
      await backend.health.ping();
      return ok(CHECK, `${directory}, at revision ${await backend.currentRevision()}`);
    });
  } catch (error) {
    if (isInUse(error)) {
      return skipped(CHECK, `${directory} is in use by a running server`);
    }
    return failed(CHECK, error, 'restore the directory from a backup, or choose another one');
  }
}

/** Opens the embedded store that the flags name, and closes it after the work. */
export async function withEmbeddedStore<T>(
  options: StorageOptions,
  clock: Clock,
  work: (backend: EmbeddedBackend) => T | Promise<T>,
): Promise<T> {
  const directory = embeddedDirectory(options);
  const backend = new EmbeddedBackend({ directory, clock, historyMillis: options.historyWindow });
  try {
    await backend.open();
    return await work(backend);
  } finally {
    await backend.close();
  }
}

function existing(path: string): string {
  return existsSync(path) ? path : existing(dirname(path));
}

/** Checks whether a database of MongoDB belongs to this cluster; undefined if there is nothing to say. */
export async function checkStoreOwner(
  options: StorageOptions,
  clusterUid: () => Promise<string>,
): Promise<Finding | undefined> {
  if (options.storageBackend !== 'mongodb') return undefined;
  try {
    const { foreign, recordedCluster } = await import('../storage/mongodb/owner-cluster.js');
    const [owner, uid] = await withMongo(options, async ({ db }) => [await recordedCluster(db), await clusterUid()]);
    if (owner === undefined) return ok(OWNER, 'the first server will record this cluster in the database');
    if (owner === uid) return ok(OWNER, 'the database belongs to this cluster');
    const former = options.mongodbFormerCluster;
    if (former === owner) return ok(OWNER, `the next server to start takes the database over from ${former}`);
    return failed(OWNER, foreign(owner, uid), `use another database, or set --mongodb-former-cluster=${owner}`);
  } catch (error) {
    return skipped(OWNER, messageOf(error));
  }
}

/** Connects to the database that the flags name, and closes the connection after the work. Errors have no credentials. */
export async function withMongo<T>(options: StorageOptions, work: (database: Database) => Promise<T>): Promise<T> {
  // The driver is loaded only if it is needed.
  const { connect } = await import('../storage/mongodb/connection/connection.js');
  const uri = mongodbUri(options, process.env);
  const { client, ...database } = await connect({
    uri,
    database: options.mongodbDatabase,
    selectMillis: SELECT_MILLIS,
  });
  try {
    return await work(database);
  } catch (error) {
    throw new Error(redact(messageOf(error), uri), { cause: error });
  } finally {
    await client.close();
  }
}

async function checkMongo(options: StorageOptions): Promise<Finding> {
  try {
    mongodbUri(options, process.env);
  } catch (error) {
    return failed(CHECK, error, 'put the URI of MongoDB into the file of --mongodb-uri-file');
  }
  try {
    return await withMongo(options, async (database) => {
      const hello = await database.db.command({ hello: 1 });
      const { refuseBegunRestore } = await import('../storage/mongodb/begun-restore.js');
      await refuseBegunRestore(database.db);
      const continued = await checkLogs(database, options);
      return ok(CHECK, `MongoDB, database ${options.mongodbDatabase}, ${nameOf(hello)}${continued}`);
    });
  } catch (error) {
    return failed(CHECK, error, mongoHint(messageOf(error)));
  }
}

/** Throws if a log is older than its objects, and a server would refuse to start. */
async function checkLogs(database: Database, options: StorageOptions): Promise<string> {
  const [{ checkCompleteLog }, { logPlace, MAIN_LOG }] = await Promise.all([
    import('../storage/mongodb/retention/complete.js'),
    import('../storage/mongodb/documents.js'),
  ]);
  const overrides = logOverrides(options.mongodbLogOverrides);
  let continued = '';
  for (const log of new Set([MAIN_LOG, ...overrides.values()])) {
    const place = logPlace(database, log);
    const above = await checkCompleteLog({ place, overrides, continueAbove: options.mongodbContinueAbove });
    if (above !== undefined)
      continued += `; the next server to start continues ${place.collection} above revision ${above}`;
  }
  return continued;
}

const nameOf = (hello: Document): string =>
  typeof hello['setName'] === 'string' ? `replica set ${hello['setName']}` : 'sharded';

function mongoHint(message: string): string {
  if (/malformed|^the MongoDB URI has /.test(message)) return 'correct the MongoDB URI';
  if (message.includes('ends at revision')) return 'do one of the two before a server starts';
  if (message.includes('credentials')) return 'correct user, password and authSource in the MongoDB URI';
  if (message.includes('does not allow')) return 'use a MongoDB URI whose user has the role readWrite';
  if (message.includes('grant it readWrite')) return 'grant the user the role readWrite on the database';
  if (message.includes('does not support')) return 'use a MongoDB, or a service, that has it';
  if (message.includes('too old')) return 'upgrade MongoDB';
  if (message.includes('is not a replica set')) return 'start mongod with --replSet and run rs.initiate() once';
  return 'start MongoDB, or correct the host, port and TLS options in its URI';
}
