import type { MaybePromise } from '../../util/maybe-promise.js';
import { timed } from '../../util/metrics/stopwatch.js';
import type { RequestContext } from '../../request/context.js';
import type { CachedObject, ReadAt, WhileAway } from '../../storage/cacher/interfaces.js';
import { parseListResourceVersion, parseResourceVersion } from '../../storage/resource-version.js';
import type { ResourceStore, StoredType } from './store/resource-store.js';

/**
 * Returns an object in the state that `resourceVersion` asks for. Returns a promise only if there is something to wait for: most
 * gets are served at once.
 */
export function getObject(
  store: ResourceStore,
  context: RequestContext,
  namespace: string,
  name: string,
  resourceVersion: string,
  whileAway?: WhileAway,
): MaybePromise<CachedObject> {
  const key = store.key(namespace, name);
  const read = readAt(resourceVersion, store.type);
  const at: ReadAt = read.mode === 'most-recent' && whileAway !== undefined ? { ...read, whileAway } : read;
  return store.getNow(key, at) ?? timed(context.stopwatch, 'etcd', () => store.get(key, name, at, resourceVersion));
}

/** Returns the state that a get must read (spec: List and get semantics). */
function readAt(resourceVersion: string, { uncached = false }: StoredType): ReadAt {
  if (resourceVersion === '') return { mode: 'most-recent' };
  // Without a watch cache, a get rejects invalid versions as a list does.
  const revision = uncached ? parseListResourceVersion(resourceVersion) : parseResourceVersion(resourceVersion);
  return revision === 0 ? { mode: 'any' } : { mode: 'not-older-than', revision, atOnce: uncached };
}
