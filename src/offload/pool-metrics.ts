import type { Registry } from 'prom-client';
import { metricsOf } from '../util/metrics/metrics.js';

/** The metrics of the pool. */
export interface PoolMetrics {
  setState(queued: number, workers: number): void;
  /** Observes the time from queueing a request to its response. */
  observeDuration(seconds: number): void;
  refused(): void;
}

export function poolMetrics(registry: Registry): PoolMetrics {
  const { counter, gauge, histogram } = metricsOf(registry);
  const queued = gauge('annex_large_writes_queued', 'Large writes waiting for a worker thread').withLabelValues();
  const workers = gauge('annex_large_write_workers', 'Running worker threads for large writes').withLabelValues();
  const seconds = histogram(
    'annex_large_write_duration_seconds',
    'Time from queueing to the response of writes processed by a worker thread',
    [],
    [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  ).withLabelValues();
  const refused = counter(
    'annex_large_writes_refused_total',
    'Large writes rejected because too many bytes were queued',
  ).withLabelValues();
  return {
    setState(waiting, running) {
      queued.value = waiting;
      workers.value = running;
    },
    observeDuration: (value) => seconds.observe(value),
    refused: () => refused.inc(),
  };
}
