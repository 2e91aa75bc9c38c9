import type { Registry } from 'prom-client';
import type { EncryptionObserver } from '../../storage/encryption/build.js';
import type { Clock } from '../../util/clock.js';
import { configMetrics, hashLabel, type ConfigMetrics } from '../../util/files/config-metrics.js';
import { LruCache } from '../../util/caches/lru-cache.js';
import { metricsOf } from '../../util/metrics/metrics.js';

const exponential = (start: number, count: number): number[] => Array.from({ length: count }, (_, i) => start * 2 ** i);
/** The maximum number of keys with series of their own. */
const MAX_KEYS = 100;

export interface EncryptionMetrics {
  readonly observer: EncryptionObserver;
  readonly config: ConfigMetrics;
}

/** Registers kube-apiserver's metrics of encryption at rest. Call it once per registry. `server` is the hash of the server's identity. */
export function encryptionMetrics(registry: Registry, server: string, clock: Clock): EncryptionMetrics {
  const observer: EncryptionObserver = {
    ...transformations(registry),
    ...keys(registry, server, clock),
    ...providers(registry),
  };
  return { observer, config: configMetrics('encryption', server, registry) };
}

function transformations(registry: Registry): Pick<EncryptionObserver, 'transformed'> {
  const { counter, histogram } = metricsOf(registry);
  const durations = histogram(
    'apiserver_storage_transformation_duration_seconds',
    'Time taken to encrypt or decrypt an object.',
    ['transformation_type', 'transformer_prefix'],
    exponential(5e-6, 25),
  );
  const total = counter(
    'apiserver_storage_transformation_operations_total',
    'Objects encrypted (to_storage) and decrypted (from_storage), by type, transformer and outcome: OK, or the status of the KMS provider.',
    ['resource', 'transformation_type', 'transformer_prefix', 'status'],
  );
  return {
    transformed: (resource, type, prefix, millis, error) => {
      total.withLabelValues(resource, type, prefix, error?.status ?? 'OK').inc();
      if (error === undefined) durations.withLabelValues(type, prefix).observe(millis / 1000);
    },
  };
}

function providers(
  registry: Registry,
): Pick<EncryptionObserver, 'called' | 'cacheMissed' | 'cacheSize' | 'keyGenerated' | 'invalidKeyId'> {
  const { counter, gauge, histogram } = metricsOf(registry);
  const missed = counter(
    'apiserver_storage_envelope_transformation_cache_misses_total',
    'Objects whose data encryption key had to be decrypted by the KMS provider.',
  );
  const generated = histogram(
    'apiserver_storage_data_key_generation_duration_seconds',
    'Time taken to generate a data encryption key.',
    [],
    exponential(5e-6, 14),
  );
  const calls = histogram(
    'apiserver_envelope_encryption_kms_operations_latency_seconds',
    'Latency of calls to KMS providers.',
    ['provider_name', 'method_name', 'grpc_status_code'],
    exponential(0.0001, 20),
  );
  const size = gauge(
    'apiserver_envelope_encryption_dek_source_cache_size',
    'Decrypted data encryption keys held in memory.',
    ['provider_name'],
  );
  const invalid = counter(
    'apiserver_envelope_encryption_invalid_key_id_from_status_total',
    'Invalid key IDs reported by KMS providers.',
    ['provider_name', 'error'],
  );
  return {
    called: (provider, method, millis, error) =>
      calls.withLabelValues(provider, method, error?.status ?? 'OK').observe(millis / 1000),
    cacheMissed: () => missed.withLabelValues().inc(),
    cacheSize: (provider, entries) => {
      size.withLabelValues(provider).value = entries;
    },
    keyGenerated: (millis) => generated.withLabelValues().observe(millis / 1000),
    invalidKeyId: (provider, error) => invalid.withLabelValues(provider, error).inc(),
  };
}

function keys(registry: Registry, server: string, clock: Clock): Pick<EncryptionObserver, 'keyUsed' | 'keyStatus'> {
  const { counter, gauge } = metricsOf(registry);
  const labels = ['transformation_type', 'provider_name', 'key_id_hash', 'apiserver_id_hash'];
  const used = counter(
    'apiserver_envelope_encryption_key_id_hash_total',
    "Objects encrypted or decrypted, by the provider's key.",
    labels,
  );
  const last = gauge(
    'apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds',
    "Time when a provider's key was last used.",
    labels,
  );
  const status = gauge(
    'apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds',
    'Time when a provider last reported its key.',
    ['provider_name', 'key_id_hash', 'apiserver_id_hash'],
  );
  const series = new LruCache<string, readonly string[]>({
    capacity: MAX_KEYS,
    onEvict: (_, values) => {
      const [type, provider, hash] = values;
      used.dropWhere(
        (labels) =>
          labels['transformation_type'] === type &&
          labels['provider_name'] === provider &&
          labels['key_id_hash'] === hash,
      );
      last.deleteLabelValues(...values);
    },
  });
  const reported = new LruCache<string, readonly string[]>({
    capacity: MAX_KEYS,
    onEvict: (_, values) => status.deleteLabelValues(...values),
  });
  return {
    keyUsed: (type, provider, keyId) => {
      const values = series.get(`${type} ${provider} ${keyId}`) ?? [type, provider, hashLabel(keyId), server];
      series.set(`${type} ${provider} ${keyId}`, values);
      used.withLabelValues(...values).inc();
      last.withLabelValues(...values).value = clock.now() / 1000;
    },
    keyStatus: (provider, keyId) => {
      const values = reported.get(`${provider} ${keyId}`) ?? [provider, hashLabel(keyId), server];
      reported.set(`${provider} ${keyId}`, values);
      status.withLabelValues(...values).value = clock.now() / 1000;
    },
  };
}
