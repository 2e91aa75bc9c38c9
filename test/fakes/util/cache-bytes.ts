import { metricsRegistry } from '../../../src/util/metrics/metrics.js';

/** Returns the value of annex_request_cache_bytes for the caches of a name; undefined if it has none. */
export async function cacheBytes(name: string): Promise<number | undefined> {
  const line = (await metricsRegistry.metrics())
    .split('\n')
    .find((candidate) => candidate.startsWith(`annex_request_cache_bytes{cache="${name}"} `));
  return line === undefined ? undefined : Number(line.split(' ')[1]);
}
