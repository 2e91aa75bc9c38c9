import type { StorageError } from '../../errors.js';
import type { TypeLoad } from './load.js';

/**
 * The phase of a type's cache (docs/design/watch-cache.md). Reads are answered only in `live`. In the other phases they wait until the
 * phase ends, and check again.
 */
export type Phase =
  /** No state belongs to the current revision, and none is loaded until a read needs it. */
  | { readonly name: 'unloaded' }
  /** Events are buffered during the load. */
  | ({ readonly name: 'loading'; readonly load: TypeLoad } & PhaseEnd)
  /** Events are applied while the selector attributes are recomputed. */
  | ({ readonly name: 'retyping' } & PhaseEnd)
  /** The state holds everything up to `revision()`. */
  | { readonly name: 'live' }
  | { readonly name: 'closed'; readonly error: StorageError };

export const UNLOADED: Phase = { name: 'unloaded' };
export const LIVE: Phase = { name: 'live' };

/** A promise for the end of a phase, and the function that settles it. */
interface PhaseEnd {
  readonly left: Promise<void>;
  readonly leave: (error?: unknown) => void;
}

export function phaseEnd(): PhaseEnd {
  let leave: PhaseEnd['leave'] = () => undefined;
  const left = new Promise<void>((resolve, reject) => {
    leave = (error) => {
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error('the cache failed', { cause: error }));
    };
  });
  // There may be no waiting read.
  left.catch(() => undefined);
  return { left, leave };
}
