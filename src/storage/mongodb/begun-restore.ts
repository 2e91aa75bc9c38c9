import type { Db } from 'mongodb';
import { StorageError } from '../errors.js';
import { metaOf, type MetaDocument } from './documents.js';

/** The id in META of the document that says that a restore has begun and is not complete. */
export const RESTORE = 'restore';

/** Who restores into the database, and when it was last seen, by MongoDB's clock. */
export interface RestoreDocument extends MetaDocument {
  readonly token: string;
  readonly seen: Date;
}

/** Throws StorageError 'unusable' if the database has only a part of a backup. */
export async function refuseBegunRestore(db: Db): Promise<void> {
  if ((await metaOf(db).findOne({ _id: RESTORE })) === null) return;
  throw new StorageError(
    'unusable',
    `a restore into the MongoDB database ${db.databaseName} has begun and is not complete: run annex restore again, which begins anew, or drop the database to begin with an empty store`,
  );
}
