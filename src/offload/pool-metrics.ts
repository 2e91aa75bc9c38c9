import type { Registry } from 'prom-client';
import { CellCounter, CellGauge, CellHistogram } from '../util/metrics/metrics.js';

/** What can be seen of the pool from outside. */
export interface PoolMetrics {
  state(queued: number, workers: number): void;
  /** From the moment a request was queued to its answer. */
  done(seconds: number): void;
  refused(): void;
}

export function poolMetrics(registry: Registry): PoolMetrics {
  const queued = new CellGauge(
    { name: 'annex_large_writes_queued', help: 'Large writes waiting for a worker thread', labels: [] },
    registry,
  ).cell();
  const workers = new CellGauge(
    { name: 'annex_large_write_workers', help: 'Running worker threads for large writes', labels: [] },
    registry,
  ).cell();
  const seconds = new CellHistogram(
    {
      name: 'annex_large_write_duration_seconds',
      help: 'Time from queueing to the response of writes processed by a worker thread',
      labels: [],
    },
    [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registry,
  ).cell();
  const refused = new CellCounter(
    {
      name: 'annex_large_writes_refused_total',
      help: 'Large writes rejected because too many bytes were queued',
      labels: [],
    },
    registry,
  ).cell();
  return {
    state(waiting, running) {
      queued.value = waiting;
      workers.value = running;
    },
    done: (value) => {
      seconds.observe(value);
    },
    refused: () => {
      refused.inc();
    },
  };
}
