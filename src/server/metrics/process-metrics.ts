import { compiledInstructions } from '@annex/cel/re2';
import { collectDefaultMetrics, type Registry } from 'prom-client';
import { certificateFaults } from '../../client/webhook/peer-certificates.js';
import { featureGates } from '../../util/feature-gates.js';
import { metricsOf, registerMetricCounts } from '../../util/metrics/metrics.js';
import { type MemoryGuard, memoryLimit, memoryUse, usableHeap } from '../health/memory-guard.js';

/** Registers the metrics that a server has in every mode. */
export function registerProcessMetrics(registry: Registry, memory: Pick<MemoryGuard, 'refused'>): void {
  registerMetricCounts(registry);
  collectDefaultMetrics({ register: registry });
  registerMemoryMetrics(registry, memory);
  registerWebhookCertificates(registry);
  const { gauge, gaugeFunc } = metricsOf(registry);
  const help = 'Stage and state of each feature gate.';
  gauge('kubernetes_feature_enabled', help, ['name', 'stage'], (metric) => {
    for (const { name, stage, enabled } of featureGates.entries())
      metric.withLabelValues(name, stage).value = enabled ? 1 : 0;
  });
  gaugeFunc(
    'annex_compiled_pattern_instructions',
    'Instructions in the cached compiled patterns of schemas and expressions.',
    compiledInstructions,
  );
}

/** Registers metrics of memory, its limits, and the requests refused for lack of it. */
function registerMemoryMetrics(registry: Registry, guard: Pick<MemoryGuard, 'refused'>): void {
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

/** Registers metrics of the faults in the certificates of called webhooks, under kube-apiserver's names. */
function registerWebhookCertificates(registry: Registry): void {
  const { counterFunc } = metricsOf(registry);
  counterFunc(
    'apiserver_webhooks_x509_missing_san_total',
    'Counts the number of requests to servers missing SAN extension in their serving certificate OR the number of connection failures due to the lack of x509 certificate SAN extension missing (either/or, based on the runtime environment)',
    () => certificateFaults.missingSan,
  );
  counterFunc(
    'apiserver_webhooks_x509_insecure_sha1_total',
    'Counts the number of requests to servers with insecure SHA1 signatures in their serving certificate OR the number of connection failures due to the insecure SHA1 signatures (either/or, based on the runtime environment)',
    () => certificateFaults.insecureSha1,
  );
}
