import type { Registry } from 'prom-client';
import type { LogSet } from '../../storage/routed-backend.js';
import { metricsOf } from '../../util/metrics/metrics.js';

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
