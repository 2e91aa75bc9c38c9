import type { StorageError } from '../../errors.js';
import type { TypeLoad } from './load.js';

/**
 * What a cache has to show (docs/design/watch-cache.md). Reads are answered in `live` alone; in the others they wait until the
 * phase is left, and look again.
 */
export type Phase =
  /** There is no state that belongs to the present revision, and nobody loads one until somebody asks. */
  | { readonly name: 'unloaded' }
  /** Events gather beside the load. */
  | {
      readonly name: 'loading';
      readonly load: TypeLoad;
      readonly left: Promise<void>;
      readonly leave: (error?: unknown) => void;
    }
  /** Events are applied; what selectors see is made anew. */
  | { readonly name: 'retyping'; readonly left: Promise<void>; readonly leave: (error?: unknown) => void }
  /** The state holds everything up to `revision()`. */
  | { readonly name: 'live' }
  | { readonly name: 'closed'; readonly error: StorageError };

export const UNLOADED: Phase = { name: 'unloaded' };
export const LIVE: Phase = { name: 'live' };

/** For a phase that ends by itself. */
export function deferred(): { readonly left: Promise<void>; readonly leave: (error?: unknown) => void } {
  let leave: (error?: unknown) => void = () => undefined;
  const left = new Promise<void>((resolve, reject) => {
    leave = (error) => {
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error('the cache failed', { cause: error }));
    };
  });
  // Nobody need be waiting.
  left.catch(() => undefined);
  return { left, leave };
}
