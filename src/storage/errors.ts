import type { Revision } from './interfaces.js';

export type StorageErrorCode =
  /** The store does not respond; no write is known to have happened. */
  | 'unavailable'
  /** The cache has not loaded the type yet, or is reloading it. */
  | 'initializing'
  /** The outcome of a write is unknown. */
  | 'unknown-outcome'
  /** The requested revision is no longer kept. */
  | 'compacted'
  /** The requested revision does not exist yet. */
  | 'too-large'
  /** The object is larger than the store allows. */
  | 'object-too-large'
  /** The stored bytes cannot be decoded. */
  | 'corrupt'
  /** The store is closed or shutting down. */
  | 'closed'
  /** The data directory or database cannot be used. */
  | 'unusable';

/** An object whose stored bytes cannot be decoded. */
export interface Undecodable {
  readonly key: string;
  readonly revision: Revision;
  /** The decoder's error message. */
  readonly reason: string;
  /** True if the bytes could not be decrypted, so that there was nothing to decode. */
  readonly isUntransformable?: boolean;
}

/** The error of every backend failure. `registry/generic` maps the codes to Status, in one place. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  constructor(
    readonly code: StorageErrorCode,
    message: string,
    readonly info: {
      readonly revision?: Revision;
      readonly current?: Revision;
      readonly cause?: unknown;
      /** With 'too-large': the read was rejected without waiting for the revision. */
      readonly atOnce?: boolean;
      /** With 'initializing': how long the cache has been loading, in milliseconds. */
      readonly downMillis?: number;
      /** With 'unavailable': the store has been away for so long that clients should not simply try again. */
      readonly lasting?: boolean;
      /** With 'corrupt': the objects that a read could not decode. */
      readonly undecodable?: readonly Undecodable[];
    } = {},
  ) {
    super(message, { cause: info.cause });
  }
}

/** Returns the `code` of an error from Node or a library, or undefined if it has none. */
export function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

/** Returns the error for a revision that is older than the oldest one kept, which is given if it is known. */
export function compacted(revision: Revision, oldest?: Revision): StorageError {
  return new StorageError('compacted', `revision ${revision} is no longer kept`, {
    revision,
    ...(oldest !== undefined && { current: oldest }),
  });
}

/** Returns the error for a revision that does not exist yet. */
export function tooLarge(revision: Revision, current: Revision, { atOnce = false } = {}): StorageError {
  return new StorageError('too-large', `Too large resource version: ${revision}, current: ${current}`, {
    revision,
    current,
    atOnce,
  });
}
