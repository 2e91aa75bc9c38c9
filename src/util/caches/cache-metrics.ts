import { metricsOf } from '../metrics/metrics.js';

/** A cache whose entries are named by what clients send. */
export interface WatchedCache {
  readonly size: number;
  /** The approximate number of bytes kept. */
  readonly weight: number;
}

/** The caches by name. A cache that is no longer used must not be kept alive by its metric. */
const caches = new Map<string, Set<WeakRef<WatchedCache>>>();
const { gauge } = metricsOf();

function sumOf(refs: Set<WeakRef<WatchedCache>>, value: (cache: WatchedCache) => number): number {
  let sum = 0;
  for (const ref of refs) {
    const cache = ref.deref();
    if (cache === undefined) refs.delete(ref);
    else sum += value(cache);
  }
  return sum;
}

const ofCaches = (name: string, help: string, value: (cache: WatchedCache) => number): void => {
  gauge(name, help, ['cache'], (metric) => {
    for (const [cache, refs] of caches) metric.withLabelValues(cache).value = sumOf(refs, value);
  });
};
ofCaches(
  'annex_request_cache_entries',
  'Entries of the caches that are keyed by what clients send.',
  (cache) => cache.size,
);
ofCaches(
  'annex_request_cache_bytes',
  'Approximate bytes of the caches that are keyed by what clients send.',
  (cache) => cache.weight,
);

/** Adds a cache to the metrics, which add up the caches of one name. */
export function watchCache(name: string, cache: WatchedCache): void {
  const refs = caches.get(name) ?? new Set();
  refs.add(new WeakRef(cache));
  caches.set(name, refs);
}
