import {
  BSON,
  MongoBulkWriteError,
  MongoInvalidArgumentError,
  MongoServerError,
  MongoWriteConcernError,
} from 'mongodb';
import { StorageError } from '../../errors.js';

const DUPLICATE_KEY = 11000;
/** Of the server: the resume token cannot be used. */
const TOKEN_LOST = new Set([136, 222, 234, 260, 280, 286]);
/** Of the server: the moment asked for is not to be had (any more); a later one is. */
const SNAPSHOT_LOST = new Set([239, 246]);
/** Codes of a server that starts, stops, or is no primary at the moment, or that another one does not answer. */
const PASSING = new Set([6, 7, 24, 50, 64, 89, 91, 112, 134, 189, 251, 262, 10107, 11600, 11602, 13435, 13436]);

export const isPassing = (code: unknown): boolean => typeof code === 'number' && PASSING.has(code);

export function isDuplicateKey(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === DUPLICATE_KEY;
}

export function isTokenLost(error: unknown): boolean {
  return error instanceof MongoServerError && typeof error.code === 'number' && TOKEN_LOST.has(error.code);
}

export function isSnapshotLost(error: unknown): boolean {
  return error instanceof MongoServerError && typeof error.code === 'number' && SNAPSHOT_LOST.has(error.code);
}

/** Whether it is clear that MongoDB has not done what it was asked, and will not; what it did of several things stands in a bulk error. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof BSON.BSONError || error instanceof MongoInvalidArgumentError) return true;
  if (!(error instanceof MongoServerError) || error instanceof MongoWriteConcernError) return false;
  if (error.hasErrorLabel('RetryableWriteError')) return false;
  if (!(error instanceof MongoBulkWriteError)) return !isPassing(error.code);
  const failures = [error.writeErrors].flat();
  return failures.length > 0 && !failures.some(({ code }) => isPassing(code));
}

/** Clients learn nothing of what the driver says, which names hosts and ports: that is the cause, for the log. */
export function unavailable(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const message =
    error instanceof MongoServerError ? `MongoDB answers with error ${String(error.code)}` : 'MongoDB does not answer';
  return new StorageError('unavailable', message, { cause: error });
}

export function closed(): StorageError {
  return new StorageError('closed', 'the store is closed');
}
