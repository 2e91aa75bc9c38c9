import type {
  CachedList,
  CachedObject,
  CacheListOptions,
  ReadAt,
  ResourceCache,
} from '../../../storage/cacher/interfaces.js';
import type { Backend } from '../../../storage/interfaces.js';
import type { RequestContext } from '../../../request/context.js';
import { withSpan } from '../../../util/tracing.js';
import { type Stopwatch, timed } from '../../../util/metrics/stopwatch.js';
import { DelegatingCache } from './delegating-cache.js';
import type { ResourceStore } from './resource-store.js';

/** Returns the store for one request, with the request's stopwatch on its reads and writes. */
export function instrumentStore(store: ResourceStore, { stopwatch: watch }: RequestContext): ResourceStore {
  if (watch === undefined) return store;
  const { backend } = store;
  const watched: Pick<Backend, 'get' | 'write'> = {
    get: (resource, key) => timed(watch, 'etcd', () => backend.get(resource, key)),
    write: (request) => timed(watch, 'etcd', () => backend.write(request)),
  };
  return store.withCache(instrumentCache(store.cache, watch), watched);
}

/** Returns the cache with a stopwatch on its lists, which may wait for the store. Gets are timed by the handlers that make them. */
export function instrumentCache(cache: ResourceCache, watch: Stopwatch): ResourceCache {
  return cache.under?.(watch) ?? new InstrumentedCache(cache, watch);
}

class InstrumentedCache extends DelegatingCache {
  constructor(
    inner: ResourceCache,
    private readonly stopwatch: Stopwatch,
  ) {
    super(inner);
  }

  get(key: string, at: ReadAt): Promise<CachedObject | undefined> {
    return withSpan('cacher.Get', { resource: this.resource }, () => this.inner.get(key, at));
  }

  list(at: ReadAt, options: CacheListOptions): Promise<CachedList> {
    return timed(this.stopwatch, 'etcd', () =>
      withSpan('cacher.GetList', { resource: this.resource }, () => this.inner.list(at, options)),
    );
  }
}
