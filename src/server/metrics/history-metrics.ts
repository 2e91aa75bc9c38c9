import type { Registry } from 'prom-client';
import { backendsOf, type LogSet, totalLag } from '../../storage/routed-backend.js';
import { metricsOf } from '../../util/metrics/metrics.js';

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
