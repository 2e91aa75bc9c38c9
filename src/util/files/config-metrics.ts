import { createHash } from 'node:crypto';
import type { Registry } from 'prom-client';
import { metricsOf } from '../metrics/metrics.js';

/** The metrics of a configuration file that is reloaded on change. */
export interface ConfigMetrics {
  readonly recordReload: (status: 'success' | 'failure', atMillis: number) => void;
  /** Sets the hash of the active configuration. */
  readonly setActiveHash: (hash: string) => void;
}

/** Hashes a label value that must not be exposed. */
export const hashLabel = (text: string | Uint8Array): string =>
  text === '' ? '' : `sha256:${createHash('sha256').update(text).digest('hex')}`;

/**
 * Creates the three metrics that kube-apiserver has for such a file, `apiserver_<what>_config_controller_…`. To be called once per registry.
 * `server` is the hash of the server's identity.
 */
export function configMetrics(
  what: 'authentication' | 'authorization' | 'encryption',
  server: string,
  registry: Registry,
): ConfigMetrics {
  const { counter, gauge } = metricsOf(registry);
  const prefix = `apiserver_${what}_config_controller`;
  const labels = ['status', 'apiserver_id_hash'];
  const reloads = counter(
    `${prefix}_automatic_reloads_total`,
    `Total number of automatic reloads of ${what} configuration split by status and apiserver identity.`,
    labels,
  );
  const last = gauge(
    `${prefix}_automatic_reload_last_timestamp_seconds`,
    `Timestamp of the last automatic reload of ${what} configuration split by status and apiserver identity.`,
    labels,
  );
  const info = gauge(
    `${prefix}_last_config_info`,
    `Information about the last applied ${what} configuration with hash as label, split by apiserver identity.`,
    ['apiserver_id_hash', 'hash'],
  );
  let current: string | undefined;
  return {
    recordReload: (status, atMillis) => {
      reloads.withLabelValues(status, server).inc();
      last.withLabelValues(status, server).value = atMillis / 1000;
    },
    setActiveHash: (hash) => {
      if (current !== undefined) info.deleteLabelValues(server, current);
      current = hash;
      info.withLabelValues(server, current).value = 1;
    },
  };
}
