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

type Configured = 'authentication' | 'authorization' | 'encryption';

/**
 * Creates the three metrics that kube-apiserver has for such a file, `apiserver_<what>_config_controller_…`. To be called once per registry.
 * `server` is the hash of the server's identity.
 */
export function configMetrics(what: Configured, server: string, registry: Registry): ConfigMetrics {
  return configFamily(what, `${what} configuration`, [], registry)(server);
}

/** Creates the same for the files of admission plugins, and returns the metrics of a plugin. */
export function manifestMetrics(server: string, registry: Registry): (plugin: string) => ConfigMetrics {
  const family = configFamily('manifest_admission', 'admission manifest configuration', ['plugin'], registry);
  return (plugin) => family(plugin, server);
}

/** `more` are the labels before that of the server. */
function configFamily(
  what: string,
  described: string,
  more: readonly string[],
  registry: Registry,
): (...values: string[]) => ConfigMetrics {
  const { counter, gauge } = metricsOf(registry);
  const prefix = `apiserver_${what}_config_controller`;
  const split = [...more, 'apiserver_id_hash'];
  const by = more.length === 0 ? 'status' : `status, ${more.join(', ')},`;
  const reloads = counter(
    `${prefix}_automatic_reloads_total`,
    `Total number of automatic reloads of ${described} split by ${by} and apiserver identity.`,
    ['status', ...split],
  );
  const last = gauge(
    `${prefix}_automatic_reload_last_timestamp_seconds`,
    `Timestamp of the last automatic reload of ${described} split by ${by} and apiserver identity.`,
    ['status', ...split],
  );
  const info = gauge(
    `${prefix}_last_config_info`,
    `Information about the last applied ${described} with hash as label, split by ${[...more, 'apiserver identity'].join(' and ')}.`,
    [...split, 'hash'],
  );
  return (...values) => {
    let current: string | undefined;
    return {
      recordReload: (status, atMillis) => {
        reloads.withLabelValues(status, ...values).inc();
        last.withLabelValues(status, ...values).value = atMillis / 1000;
      },
      setActiveHash: (hash) => {
        if (current !== undefined) info.deleteLabelValues(...values, current);
        current = hash;
        info.withLabelValues(...values, current).value = 1;
      },
    };
  };
}
