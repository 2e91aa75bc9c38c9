import { MongoError, MongoServerError } from 'mongodb';
import { StorageError } from '../errors.js';
import { messageOf } from '../../util/error-message.js';

const DUPLICATE_KEY = 11000;
const WRITE_CONFLICT = 112;
/** Of the server: the resume token cannot be used. */
const TOKEN_LOST = new Set([136, 222, 234, 260, 280, 286]);
/** Of the server: the moment asked for is not to be had (any more); a later one is. */
const SNAPSHOT_LOST = new Set([239, 246]);

/** A document of a command cannot be written; MongoDB has given up the transaction. */
export class WriteRefused extends Error {
  constructor(
    message: string,
    readonly code: number,
  ) {
    super(message);
  }
}

export function isDuplicateKey(error: unknown): boolean {
  return (error instanceof MongoServerError || error instanceof WriteRefused) && error.code === DUPLICATE_KEY;
}

export function isWriteConflict(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === WRITE_CONFLICT;
}

export function isTokenLost(error: unknown): boolean {
  return error instanceof MongoServerError && typeof error.code === 'number' && TOKEN_LOST.has(error.code);
}

export function isSnapshotLost(error: unknown): boolean {
  return error instanceof MongoServerError && typeof error.code === 'number' && SNAPSHOT_LOST.has(error.code);
}

/** Whether the same transaction may succeed when it is tried again. */
export function isTransient(error: unknown): boolean {
  return (
    error instanceof MongoError &&
    (error.hasErrorLabel('TransientTransactionError') ||
      error.hasErrorLabel('RetryableWriteError') ||
      error.hasErrorLabel('UnknownTransactionCommitResult'))
  );
}

/** Whether the server itself answered with the error, so that what it refused did not happen. */
export function isRefusal(error: unknown): boolean {
  return error instanceof WriteRefused || (error instanceof MongoServerError && !isTransient(error));
}

export function unavailable(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  return new StorageError('unavailable', `MongoDB does not answer: ${messageOf(error)}`, { cause: error });
}

export function closed(): StorageError {
  return new StorageError('closed', 'the store is closed');
}
