import { getHeapStatistics } from 'node:v8';
import type { Registry } from 'prom-client';
import { metricsOf } from '../../util/metrics/metrics.js';

/** More than any machine has: process.constrainedMemory() says so where the control group sets no limit. */
const NO_LIMIT = 2 ** 53;

/** The limits of memory, to compare process_resident_memory_bytes and nodejs_heap_size_used_bytes with. */
export function registerMemoryLimits(registry: Registry): void {
  const metrics = metricsOf(registry);
  const heap = 'Limit of the JavaScript heap in bytes.';
  metrics.gauge('annex_heap_limit_bytes', heap, [], (gauge) => {
    gauge.cell().value = getHeapStatistics().heap_size_limit;
  });
  const memory = 'Memory limit of the container in bytes; 0 without a limit.';
  metrics.gauge('annex_memory_limit_bytes', memory, [], (gauge) => {
    const limit = process.constrainedMemory();
    gauge.cell().value = limit >= NO_LIMIT ? 0 : limit;
  });
}
