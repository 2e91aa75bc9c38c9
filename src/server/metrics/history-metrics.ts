import type { Registry } from 'prom-client';
import type { KeptHistory } from '../../storage/kept/interfaces.js';
import { backendsOf, type LogSet, totalLag } from '../../storage/routed-backend.js';
import { type GaugeVec, metricsOf } from '../../util/metrics/metrics.js';

/**
 * Registers metrics of when the history of the store was last trimmed to its window, and of how far the collections in MongoDB are
 * behind the log. Several logs report the earliest time, their longest delay, and the sum of their objects.
 */
export function registerHistoryMetrics(logs: LogSet, registry: Registry): void {
  const times = () => backendsOf(logs).flatMap((backend) => backend.trimmedAt() ?? []);
  const lag = () => totalLag(backendsOf(logs));
  const { gaugeFunc } = metricsOf(registry);
  gaugeFunc(
    'annex_store_history_trim_timestamp_seconds',
    "Time when the store's history was last trimmed to its window.",
    () => {
      const all = times();
      return all.length > 0 ? Math.min(...all) / 1000 : undefined;
    },
  );
  gaugeFunc(
    'annex_store_projection_lag_seconds',
    'Time for which the oldest committed write has waited to be projected into the collections of MongoDB.',
    () => lag()?.seconds,
  );
  gaugeFunc(
    'annex_store_projection_waiting_objects',
    'Objects whose last write is committed but not projected yet.',
    () => lag()?.objects,
  );
}

/** Registers metrics of the deleted objects and superseded states that are kept beyond the window. */
export function registerKeptMetrics(kept: KeptHistory | undefined, registry: Registry): void {
  if (kept === undefined) return;
  const { gauge } = metricsOf(registry);
  const refresh = (part: 'count' | 'bytes') => async (metric: GaugeVec) => {
    const sums = { deleted: 0, revisions: 0 };
    for (const type of await kept.types()) {
      const { deleted, revisions } = await kept.usage(type);
      sums.deleted += deleted[part];
      sums.revisions += revisions[part];
    }
    for (const [kind, sum] of Object.entries(sums)) metric.withLabelValues(kind).value = sum;
  };
  const states = "States in the store's history: the last ones of deleted objects, and superseded revisions.";
  gauge('annex_history_states', states, ['kind'], refresh('count'));
  gauge('annex_history_bytes', "Size of the store's history in bytes, as stored.", ['kind'], refresh('bytes'));
}
