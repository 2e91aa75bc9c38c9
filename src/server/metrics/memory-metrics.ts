import type { Registry } from 'prom-client';
import { metricsOf } from '../../util/metrics/metrics.js';
import { type MemoryGuard, memoryLimit, memoryUse, usableHeap } from '../health/memory-guard.js';

/** Registers metrics of memory, its limits, and the requests refused for lack of it. */
export function registerMemoryMetrics(registry: Registry, guard: Pick<MemoryGuard, 'refused'>): void {
  const { counter, gaugeFunc } = metricsOf(registry);
  gaugeFunc('annex_heap_limit_bytes', 'Bytes of the JavaScript heap that live objects may use.', usableHeap);
  gaugeFunc('annex_memory_limit_bytes', 'Memory limit of the container in bytes; 0 without a limit.', memoryLimit);
  gaugeFunc(
    'annex_memory_anonymous_bytes',
    'Anonymous memory of the process in bytes, which is not backed by files and counts toward the memory limit.',
    () => memoryUse().anonymous.used,
  );
  const refusals = 'Requests refused with 503 because memory was nearly exhausted, by operation.';
  counter('annex_memory_refusals_total', refusals, ['operation'], (counter) => {
    for (const [operation, count] of guard.refused) counter.withLabelValues(operation).value = count;
  });
}
