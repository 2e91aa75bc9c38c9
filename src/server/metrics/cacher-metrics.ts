import type { Registry } from 'prom-client';
import type { CacherOptions, CacherStats } from '../../storage/cacher/cacher.js';
import type { TypeStats } from '../../storage/cacher/interfaces.js';
import type { Logger } from '../../util/logger.js';
import { type GaugeVec, metricsOf } from '../../util/metrics/metrics.js';
import { splitResource } from './measured-backend.js';

/** Registers metrics of the contents of the cacher, which are read at each scrape. */
// eslint-disable-next-line max-lines-per-function -- a table of metrics
export function registerCacherMetrics(stats: () => CacherStats, registry: Registry): void {
  const { gauge, gaugeFunc, counterFunc } = metricsOf(registry);
  perType('apiserver_resource_objects', 'Objects by type.', (type) => type.objects);
  perType(
    'annex_cache_objects',
    'Objects in memory, by type; the others are packed and read from a local file.',
    (type) => type.inMemory(),
  );
  perType('annex_watch_cache_watchers', 'Watches served from the cache, by type.', (type) => type.watchers);
  perType('apiserver_watch_cache_resource_version', 'Newest revision in the cache.', (type) => type.revision);
  perType(
    'annex_undecodable_objects',
    'Objects by type that cannot be decoded or decrypted; the server ignores them.',
    (type) => type.undecodable,
  );
  byResource(
    'apiserver_storage_objects',
    'Objects by type; apiserver_resource_objects has the group as a separate label.',
  );
  gaugeFunc('annex_cache_derived_bytes', 'Bytes of cached derived representations.', () => stats().budget.bytes);
  gaugeFunc('annex_cache_derived_limit_bytes', 'Limit of annex_cache_derived_bytes.', () => stats().budget.limit);
  gaugeFunc(
    'annex_cache_resident_bytes',
    'Bytes of memory used by objects that the store also keeps in a local file; objects beyond the limit are packed.',
    () => stats().warmth.bytes,
  );
  gaugeFunc('annex_cache_resident_limit_bytes', 'Limit of annex_cache_resident_bytes.', () => stats().warmth.limit);
  counterFunc(
    'annex_cache_packed_total',
    'Groups of neighboring objects that were packed.',
    () => stats().warmth.packed,
  );
  counterFunc(
    'annex_cache_unpacked_total',
    'Groups of packed objects that were unpacked because they were needed again.',
    () => stats().warmth.unpacked,
  );
  gaugeFunc('annex_cache_history_events', 'Recent events kept for watches.', () => stats().history.events);
  gaugeFunc('annex_cache_history_bytes', 'Bytes of the recent events kept for watches.', () => stats().history.bytes);
  gaugeFunc(
    'annex_cache_load_waits',
    'Lists and watches that are waiting for a type to load.',
    () => stats().loads.waiting,
  );
  counterFunc(
    'annex_cache_load_refusals_total',
    'Lists and watches answered with 429 because a type was not loaded in time.',
    () => stats().loads.refused,
  );
  counterFunc('annex_cache_derived_hits_total', 'Cache hits of derived representations.', () => stats().budget.hits);
  counterFunc(
    'annex_cache_derived_misses_total',
    'Cache misses of derived representations.',
    () => stats().budget.misses,
  );
  counterFunc(
    'annex_cache_derived_evictions_total',
    'Cache evictions of derived representations.',
    () => stats().budget.evictions,
  );

  gaugeFunc(
    'annex_asking_cached_bytes',
    'Bytes of kept results of where and orderBy, a part of annex_cache_derived_bytes.',
    () => stats().budget.askedBytes,
  );
  counterFunc(
    'annex_asking_cached_results_total',
    'Results of where that lists took from the cache instead of evaluating the expression.',
    () => stats().budget.askedHits,
  );

  /** Registers a gauge with a series per type. The series of a removed type are dropped. */
  function typed(
    name: string,
    help: string,
    labels: string[],
    set: (gauge: GaugeVec, type: TypeStats) => string[],
  ): void {
    let shown = new Map<string, string[]>();
    gauge(name, help, labels, (gauge) => {
      const before = shown;
      shown = new Map();
      for (const type of stats().types) shown.set(type.resource, set(gauge, type));
      for (const [resource, values] of before) if (!shown.has(resource)) gauge.deleteLabelValues(...values);
    });
  }

  function perType(name: string, help: string, value: (type: TypeStats) => number): void {
    typed(name, help, ['group', 'resource'], (gauge, type) => {
      const { group, plural } = splitResource(type.resource);
      gauge.withLabelValues(group, plural).value = value(type);
      return [group, plural];
    });
  }

  function byResource(name: string, help: string): void {
    typed(name, help, ['resource'], (gauge, type) => {
      gauge.withLabelValues(type.resource).value = type.objects;
      return [type.resource];
    });
  }
}

/** Returns a function that counts and logs objects that cannot be decoded: reads fail because of them, and rules in them do not apply. */
export function undecodableReporter(registry: Registry, logger: Logger): NonNullable<CacherOptions['undecodable']> {
  const { counter } = metricsOf(registry);
  const errors = counter(
    'apiserver_storage_decode_errors_total',
    'Stored objects that could not be decoded or decrypted, by type.',
    ['group', 'resource'],
  );
  return (resource, objects, { key, reason: why }) => {
    const { group, plural } = splitResource(resource);
    errors.withLabelValues(group, plural).inc(objects);
    logger.error('cannot read stored objects; ignoring them', {
      resource,
      objects,
      ...(objects === 1 ? { key } : { oneOf: key }),
      error: why,
    });
  };
}
