import { MongoServerError, type Document } from 'mongodb';
import { StorageError } from '../errors.js';

const DUPLICATE_KEY = 11000;
const IMMUTABLE_FIELD = 66;
const WRITE_CONFLICT = 112;
const NO_SUCH_TRANSACTION = 251;
const TRANSIENT = new Set(['TransientTransactionError', 'RetryableWriteError', 'UnknownTransactionCommitResult']);
/** Of the server: the resume token cannot be used. */
const TOKEN_LOST = new Set([136, 222, 234, 260, 280, 286]);
/** Of the server: the moment asked for is not to be had (any more); a later one is. */
const SNAPSHOT_LOST = new Set([239, 246]);

/** What MongoDB answered to a command of a transaction is an error; it has given up the transaction. */
export class CommandFailed extends Error {
  readonly code: number;
  private readonly labels: readonly string[];

  constructor(answer: Document) {
    super(String(answer['errmsg'] ?? 'it failed'));
    this.code = Number(answer['code'] ?? 0);
    this.labels = (answer['errorLabels'] ?? []) as readonly string[];
  }

  /** Whether the same transaction may succeed when it is tried again. */
  get isTransient(): boolean {
    return this.labels.some((label) => TRANSIENT.has(label));
  }

  /** As the answer to a commit: there is no such transaction (any more), and it was not committed. */
  get isGivenUp(): boolean {
    return this.code === NO_SUCH_TRANSACTION && this.labels.includes('TransientTransactionError');
  }
}

export function isDuplicateKey(error: unknown): boolean {
  return (error instanceof MongoServerError || error instanceof CommandFailed) && error.code === DUPLICATE_KEY;
}

export function isWriteConflict(error: unknown): boolean {
  return error instanceof CommandFailed && error.code === WRITE_CONFLICT;
}

/** As the answer to the fence of a transaction: the floor has reached it. */
export function isFenced(error: unknown): boolean {
  return error instanceof CommandFailed && error.code === IMMUTABLE_FIELD;
}

export function isTokenLost(error: unknown): boolean {
  return error instanceof MongoServerError && typeof error.code === 'number' && TOKEN_LOST.has(error.code);
}

export function isSnapshotLost(error: unknown): boolean {
  return error instanceof MongoServerError && typeof error.code === 'number' && SNAPSHOT_LOST.has(error.code);
}

/** Whether the server itself answered with the error, so that what it refused did not happen. */
export function isRefusal(error: unknown): boolean {
  return error instanceof CommandFailed && !error.isTransient;
}

/** Clients learn nothing of what the driver says, which names hosts and ports: that is the cause, for the log. */
export function unavailable(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const answered = error instanceof MongoServerError || error instanceof CommandFailed;
  const message = answered ? `MongoDB answers with error ${String(error.code)}` : 'MongoDB does not answer';
  return new StorageError('unavailable', message, { cause: error });
}

export function closed(): StorageError {
  return new StorageError('closed', 'the store is closed');
}
