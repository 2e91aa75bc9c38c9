import type { Revision } from './interfaces.js';

export type StorageErrorCode =
  /** The store does not answer; nothing is known to have been written. */
  | 'unavailable'
  /** The cache has not loaded the type yet, or reloads it. */
  | 'initializing'
  /** The outcome of a write is unknown. */
  | 'unknown-outcome'
  /** The revision asked for is no longer kept. */
  | 'compacted'
  /** The revision asked for does not exist yet. */
  | 'too-large'
  /** The object is larger than the store allows. */
  | 'object-too-large'
  /** The stored bytes cannot be decoded. */
  | 'corrupt'
  /** The store is closed or shutting down. */
  | 'closed'
  /** The data directory or database cannot be used. */
  | 'unusable';

/** An object whose stored bytes are none. */
export interface Undecodable {
  readonly key: string;
  readonly revision: Revision;
  /** In the decoder's words. */
  readonly why: string;
  /** It could not be decrypted; there was nothing to decode. */
  readonly isUntransformable?: boolean;
}

/** Every failure of a backend. `registry/generic` maps the codes to Status, in one place. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  constructor(
    readonly code: StorageErrorCode,
    message: string,
    readonly info: {
      readonly revision?: Revision;
      readonly current?: Revision;
      readonly cause?: unknown;
      /** With 'too-large': nobody has waited for it. */
      readonly atOnce?: boolean;
      /** With 'initializing': for how long the cache has been loading. */
      readonly downMillis?: number;
      /** With 'corrupt', where objects were read. */
      readonly undecodable?: readonly Undecodable[];
    } = {},
  ) {
    super(message, { cause: info.cause });
  }
}

/** The `code` of an error of Node or of a library; undefined where it has none. */
export function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

/** A revision that lies before what is still kept. */
export function compacted(revision: Revision, oldest: Revision): StorageError {
  return new StorageError('compacted', `revision ${revision} is no longer kept`, { revision, current: oldest });
}

/** A revision that does not exist yet. */
export function tooLarge(revision: Revision, current: Revision, { atOnce = false } = {}): StorageError {
  return new StorageError('too-large', `Too large resource version: ${revision}, current: ${current}`, {
    revision,
    current,
    atOnce,
  });
}
