import type { Db } from 'mongodb';
import { StorageError } from '../errors.js';
import { DURABLE, metaOf, STANDALONE, WRITERS } from './documents.js';
import { GONE_MILLIS } from './layout.js';

const CLUSTER = 'cluster';

/** The cluster that a server belongs to. */
export interface OwnCluster {
  /** The uid of the cluster's namespace kube-system, or STANDALONE. */
  readonly uid: string;
  /** The cluster whose database this one takes over, because it was rebuilt; '' for none. */
  readonly former: string;
}

/** Returns what the database belongs to, or undefined if no server has recorded it yet. */
export async function recordedCluster(db: Db): Promise<string | undefined> {
  return (await metaOf(db).findOne({ _id: CLUSTER }))?.uid;
}

/** Records whom a database belongs to whose backup is restored. */
export async function claimedBy(db: Db, uid: string): Promise<void> {
  await metaOf(db).insertOne({ _id: CLUSTER, uid }, DURABLE);
}

/**
 * Records that a database belongs to a cluster, at the first start. Throws StorageError 'unusable' if it belongs to another one, in which
 * other namespaces exist: their objects would be deleted as leftovers.
 */
export async function claimDatabase(db: Db, { uid, former }: OwnCluster): Promise<void> {
  const recorded = await metaOf(db).findOneAndUpdate(
    { _id: CLUSTER },
    { $setOnInsert: { uid } },
    { upsert: true, returnDocument: 'after', ...DURABLE },
  );
  const owner = recorded?.uid;
  if (owner === uid) return;
  if (owner !== former) throw refusal(db, `${foreign(owner, uid)}, or set --mongodb-former-cluster=${String(owner)}`);
  const isRecent = { $expr: { $gt: ['$seen', { $subtract: ['$$NOW', GONE_MILLIS] }] } };
  if ((await db.collection(WRITERS).countDocuments(isRecent)) > 0) {
    const counted = `(a killed server is still counted for ${GONE_MILLIS / 1000} s)`;
    throw refusal(db, `servers of ${nameOf(owner)} are still running: stop them first ${counted}`);
  }
  await metaOf(db).updateOne({ _id: CLUSTER, uid: owner }, { $set: { uid } }, DURABLE);
  // Servers of a third cluster may have been faster.
  if ((await recordedCluster(db)) !== uid) throw refusal(db, 'servers of another cluster are taking it over');
}

/** Describes a database of another cluster, in words that go before "or set …". */
export const foreign = (owner: string | undefined, uid: string): string =>
  `it belongs to ${nameOf(owner)}, and this is ${nameOf(uid)}: use another database` +
  (owner === STANDALONE || uid === STANDALONE ? '' : ' if both exist');

const nameOf = (cluster: string | undefined): string =>
  cluster === STANDALONE ? 'a standalone server' : `the cluster ${String(cluster)} (uid of its namespace kube-system)`;

const refusal = (db: Db, why: string): StorageError =>
  new StorageError('unusable', `the MongoDB database ${db.databaseName} cannot be used: ${why}`);
