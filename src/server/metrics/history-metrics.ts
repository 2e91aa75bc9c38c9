import type { Registry } from 'prom-client';
import type { LogSet } from '../../storage/routed-backend.js';
import { metricsOf } from '../../util/metrics/metrics.js';

/**
 * Registers metrics of how far the collections in MongoDB are behind the log. Several logs report their longest delay and the sum
 * of their objects.
 */
export function registerProjectionMetrics({ main, others }: LogSet, registry: Registry): void {
  const lags = () => [main, ...others.values()].flatMap((backend) => backend.projectionLag?.() ?? []);
  const metrics = metricsOf(registry);
  const seconds =
    'Time for which the oldest committed write has waited to be projected into the collections of MongoDB.';
  metrics.gauge('annex_store_projection_lag_seconds', seconds, [], (gauge) => {
    const all = lags();
    if (all.length > 0) gauge.withLabelValues().value = Math.max(...all.map((lag) => lag.seconds));
  });
  const objects = 'Objects whose last write is committed but not projected yet.';
  metrics.gauge('annex_store_projection_waiting_objects', objects, [], (gauge) => {
    const all = lags();
    if (all.length > 0) gauge.withLabelValues().value = all.reduce((sum, lag) => sum + lag.objects, 0);
  });
}

/** Registers a metric of when the history of the store was last trimmed to its window. Several logs report the earliest time. */
export function registerTrimMetric({ main, others }: LogSet, registry: Registry): void {
  const metrics = metricsOf(registry);
  const name = 'annex_store_history_trim_timestamp_seconds';
  const help = "Time when the store's history was last trimmed to its window.";
  metrics.gauge(name, help, [], (gauge) => {
    const times = [main, ...others.values()].flatMap((backend) => backend.trimmedAt?.() ?? []);
    if (times.length > 0) gauge.withLabelValues().value = Math.min(...times) / 1000;
  });
}
