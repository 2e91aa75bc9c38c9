import type { Registry } from 'prom-client';
import type { LogSet } from '../../storage/routed-backend.js';
import { metricsOf } from '../../util/metrics/metrics.js';

/** How far what people read in MongoDB is behind the log; of several logs the one that is furthest behind. */
export function showProjection({ main, others }: LogSet, registry: Registry): void {
  const lags = () => [main, ...others.values()].flatMap((backend) => backend.projectionLag?.() ?? []);
  const metrics = metricsOf(registry);
  const seconds =
    'Time for which the oldest committed write has waited to be projected into the collections of MongoDB.';
  metrics.gauge('annex_store_projection_lag_seconds', seconds, [], (gauge) => {
    const all = lags();
    if (all.length > 0) gauge.cell().value = Math.max(...all.map((lag) => lag.seconds));
  });
  const objects = 'Objects whose last write is committed and not projected yet.';
  metrics.gauge('annex_store_projection_waiting_objects', objects, [], (gauge) => {
    const all = lags();
    if (all.length > 0) gauge.cell().value = all.reduce((sum, lag) => sum + lag.objects, 0);
  });
}

/** When the history of the store was last brought down to its window: of several logs the one where that is longest ago. */
export function showTrimming({ main, others }: LogSet, registry: Registry): void {
  const metrics = metricsOf(registry);
  const name = 'annex_store_history_trim_timestamp_seconds';
  const help = "Time when the store's history was last brought down to its window.";
  metrics.gauge(name, help, [], (gauge) => {
    const times = [main, ...others.values()].flatMap((backend) => backend.trimmedAt?.() ?? []);
    if (times.length > 0) gauge.cell().value = Math.min(...times) / 1000;
  });
}
