import { type ApiError, newResourceExpired } from '../../apimachinery/meta/errors.js';
import type { CacheWatchOptions, ReadAt, Watcher, WatchReceiver } from '../../storage/cacher/interfaces.js';
import { StorageError } from '../../storage/errors.js';
import { interpretStorageError } from '../../storage/interpret-error.js';
import { parseResourceVersion } from '../../storage/resource-version.js';
import type { WatchOptions } from '../rest/storage.js';
import { handoverReason, RELIST_ELSEWHERE_MESSAGE } from './handover.js';
import type { ResourceStore } from './store/resource-store.js';

/** kube-apiserver's message for a type that it serves without a watch cache. */
const TOO_OLD_UNCACHED = 'The resourceVersion for the provided watch is too old.';

/** kube-apiserver's store starts a watch at the version plus one, which overflows a signed 64-bit integer here. */
const MAX_INT64 = 0x7fffffffffffffffn;

const ENDED: Watcher = { resume: () => undefined, stop: () => undefined };

/** Watches a namespace, or all namespaces if it is ''. The watch ends when `watchesEnd` aborts; see HandoverReason. */
export async function watchObjects(
  store: ResourceStore,
  namespace: string,
  options: WatchOptions,
  receiver: WatchReceiver,
  { watchesEnd, flow }: { readonly watchesEnd?: AbortSignal | undefined; readonly flow?: string | undefined },
): Promise<Watcher> {
  if (handoverReason(watchesEnd) !== undefined) {
    receiver.ended(relistElsewhere());
    return ENDED;
  }
  let watcher: Watcher;
  try {
    watcher = await store.cache.watch({ ...checkedStart(store, namespace, options), flow }, receiver);
  } catch (error) {
    const interpreted = interpretStorageError(error, 'watch', options.resourceVersion) as Error;
    if (!(error instanceof StorageError) || (error.code !== 'compacted' && error.code !== 'too-large'))
      throw interpreted;
    // Sent as an event of a stream that has already begun, as kube-apiserver does.
    const isUncached = error.code === 'compacted' && store.type.uncached === true;
    receiver.ended(isUncached ? newResourceExpired(TOO_OLD_UNCACHED) : interpreted);
    return ENDED;
  }
  return watchesEnd === undefined ? watcher : endedBy(watchesEnd, watcher, receiver);
}

const relistElsewhere = (): ApiError => newResourceExpired(RELIST_ELSEWHERE_MESSAGE);

/** Ends a watch when the signal aborts. */
function endedBy(signal: AbortSignal, watcher: Watcher, receiver: WatchReceiver): Watcher {
  const end = (): void => {
    watcher.stop();
    receiver.ended(handoverReason(signal) === undefined ? 'closed' : relistElsewhere());
  };
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  return {
    resume: () => watcher.resume(),
    stop: () => {
      signal.removeEventListener('abort', end);
      watcher.stop();
    },
  };
}

/** Returns the options for the cache. Throws StorageError 'compacted' for a start that no cache can know. */
function checkedStart(store: ResourceStore, namespace: string, options: WatchOptions): CacheWatchOptions {
  const wanted = cacheOptions(store, namespace, options);
  const { start } = wanted;
  if (start.mode !== 'exact') return wanted;
  if (store.type.uncached === true && BigInt(options.resourceVersion || 0) >= MAX_INT64)
    throw new StorageError('compacted', 'the next revision exceeds the range of an int64');
  if (start.revision < store.createdRevision) {
    const info = { revision: start.revision, current: store.createdRevision };
    throw new StorageError('compacted', 'the type did not exist at this revision', info);
  }
  return wanted;
}

function cacheOptions(store: ResourceStore, requested: string, options: WatchOptions): CacheWatchOptions {
  const { predicate, allowWatchBookmarks, sendInitialEvents, deadline } = options;
  const namespace = requested === '' ? (predicate.namespace ?? '') : requested;
  const { name } = predicate;
  const single = name !== undefined && isPathSegment(name) && (!store.namespaced || namespace !== '');
  return {
    prefix: store.namespaced && namespace !== '' ? `${namespace}/` : '',
    key: single ? store.key(namespace, name) : undefined,
    predicate,
    start: watchStart(options, store.cache.revision(), store.type.uncached === true),
    initialEventsBookmark: sendInitialEvents === true && allowWatchBookmarks,
    bookmarks: allowWatchBookmarks,
    deadline,
  };
}

/** Reports whether a text can be an object's name. A selector may contain one that cannot, which matches nothing. */
const isPathSegment = (name: string): boolean => name !== '.' && name !== '..' && !/[/%]/.test(name);

/** Returns where a watch starts (spec: watch). Without initial events, a watch from "most recent" or "any" starts at the cache's revision. */
function watchStart(options: WatchOptions, current: number, atOnce: boolean): ReadAt {
  const revision = parseResourceVersion(options.resourceVersion);
  if (options.sendInitialEvents === true) {
    if (options.resourceVersion === '') return { mode: 'most-recent' };
    return revision === 0 ? { mode: 'any' } : { mode: 'not-older-than', revision, atOnce };
  }
  if (options.sendInitialEvents === false && revision === 0) return { mode: 'exact', revision: current };
  if (options.resourceVersion === '') return { mode: 'most-recent' };
  return revision === 0 ? { mode: 'any' } : { mode: 'exact', revision };
}
