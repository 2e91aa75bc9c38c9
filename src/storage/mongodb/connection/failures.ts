import {
  BSON,
  MongoBulkWriteError,
  MongoInvalidArgumentError,
  MongoServerError,
  MongoWriteConcernError,
} from 'mongodb';
import { StorageError } from '../../errors.js';

export const DUPLICATE_KEY = 11000;
/** Server error codes: the resume token cannot be used. */
const TOKEN_LOST = new Set([136, 222, 234, 260, 280, 286]);
/** Server error codes: the requested time is not available (any more), but a later one is. */
const SNAPSHOT_LOST = new Set([239, 246]);
/** Error codes of a server that is starting, stopping, or not a primary at the moment, or that gets no response from another server. */
const TRANSIENT_CODES = new Set([6, 7, 24, 50, 64, 89, 91, 112, 134, 189, 251, 262, 10107, 11600, 11602, 13435, 13436]);

export const isTransient = (code: unknown): boolean => typeof code === 'number' && TRANSIENT_CODES.has(code);

export function isDuplicateKey(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === DUPLICATE_KEY;
}

export const isTokenLost = (error: unknown): boolean => hasCode(error, TOKEN_LOST);

export const isSnapshotLost = (error: unknown): boolean => hasCode(error, SNAPSHOT_LOST);

function hasCode(error: unknown, codes: ReadonlySet<number>): boolean {
  return error instanceof MongoServerError && typeof error.code === 'number' && codes.has(error.code);
}

/** Reports whether MongoDB has certainly not done what was requested, and will not. A bulk error lists the requests that failed. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof BSON.BSONError || error instanceof MongoInvalidArgumentError) return true;
  if (!(error instanceof MongoServerError) || error instanceof MongoWriteConcernError) return false;
  if (error.hasErrorLabel('RetryableWriteError')) return false;
  if (!(error instanceof MongoBulkWriteError)) return !isTransient(error.code);
  const failures = [error.writeErrors].flat();
  return failures.length > 0 && !failures.some(({ code }) => isTransient(code));
}

/** Hides the driver's message from clients, because it names hosts and ports. It is kept as the cause, for the log. */
export function unavailable(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const message =
    error instanceof MongoServerError ? `MongoDB returned error ${String(error.code)}` : 'MongoDB does not answer';
  return new StorageError('unavailable', message, { cause: error });
}

export function closed(): StorageError {
  return new StorageError('closed', 'the store is closed');
}
