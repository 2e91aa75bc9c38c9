import { MongoServerError, type Db, type Document } from 'mongodb';
import { messageOf } from '../../../util/error-message.js';
import { isSnapshotLost, isTransient } from './failures.js';

/** Two of the collections in documents.ts, which stands above this room. */
const META = 'meta';
const LOG = 'log';

/** The maximum time of one probe: without a majority, some would never end. */
const PROBE_MILLIS = 10_000;
const UNAUTHORIZED = 13;

interface Probe {
  readonly capability: string;
  readonly run: (db: Db) => Promise<unknown>;
}

const read = (level: string): Document => ({
  find: META,
  filter: { _id: 'format' },
  limit: 1,
  singleBatch: true,
  readConcern: { level },
  maxTimeMS: PROBE_MILLIS,
});

/** No document matches, so that nothing changes, and no collection is created. */
const NOTHING = { _id: 'nothing' };
const CHANGE = { $set: { version: 0 } };

async function write(db: Db, writeConcern: Document): Promise<void> {
  const reply = await db.command({ update: META, updates: [{ q: NOTHING, u: CHANGE }], writeConcern });
  const error = reply['writeConcernError'] as { readonly errmsg?: string; readonly code?: number } | undefined;
  if (error !== undefined) throw new MongoServerError({ message: error.errmsg ?? '', code: error.code });
}

async function openStream(db: Db): Promise<void> {
  // Cursor ids do not fit into JavaScript numbers.
  const reply = await db.command(
    { aggregate: LOG, pipeline: [{ $changeStream: {} }], cursor: { batchSize: 0 }, readConcern: { level: 'majority' } },
    { promoteLongs: false },
  );
  const { id } = reply['cursor'] as { readonly id: unknown };
  await db.command({ killCursors: LOG, cursors: [id] }).catch(() => undefined);
}

/** What Annex needs of a MongoDB. Each probe uses it once, and changes nothing. */
const PROBES: readonly Probe[] = [
  { capability: 'majority reads', run: (db) => db.command(read('majority')) },
  { capability: 'linearizable reads', run: (db) => db.command(read('linearizable')) },
  { capability: 'snapshot reads', run: (db) => db.command(read('snapshot')) },
  { capability: 'journaled writes', run: (db) => write(db, { w: 1, j: true }) },
  { capability: 'majority writes', run: (db) => write(db, { w: 'majority', wtimeout: PROBE_MILLIS }) },
  // The driver numbers it, by which MongoDB recognizes a second attempt.
  {
    capability: 'retryable writes',
    run: (db) => db.collection<{ readonly _id: string }>(META).updateOne(NOTHING, CHANGE),
  },
  { capability: 'change streams', run: openStream },
];

/** Returns what Annex needs and MongoDB does not have, with its error; undefined if nothing is missing. Throws errors that may be temporary. */
export async function missingCapability(db: Db, hello: Document): Promise<string | undefined> {
  if (typeof hello['logicalSessionTimeoutMinutes'] !== 'number') return 'retryable writes (it has no sessions)';
  for (const { capability, run } of PROBES) {
    try {
      await run(db);
    } catch (error) {
      // The snapshot of a moment may be missing, for instance just after a collection was created.
      if (isSnapshotLost(error)) continue;
      if (!(error instanceof MongoServerError) || isTransient(error.code) || error.code === UNAUTHORIZED) throw error;
      return `${capability} (${messageOf(error)})`;
    }
  }
  return undefined;
}
