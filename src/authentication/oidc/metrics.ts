import { createHash } from 'node:crypto';
import type { Registry } from 'prom-client';
import { CellCounter, CellGauge, CellHistogram, metricsRegistry } from '../../util/metrics.js';
import type { Clock } from '../../util/clock.js';
import type { OidcMetrics } from './authenticator.js';
import type { ConfigMetrics } from './reload.js';

const CONFIG = 'apiserver_authentication_config_controller';
const JWT = 'apiserver_authentication_jwt_authenticator';
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const hash = (text: string): string => (text === '' ? '' : `sha256:${createHash('sha256').update(text).digest('hex')}`);

/** The metrics of providers and of their configuration, under kube-apiserver's names. To be made once for a registry. */
export function oidcMetrics(
  serverId: string,
  clock: Clock,
  registry: Registry = metricsRegistry,
): { readonly oidc: OidcMetrics; readonly config: ConfigMetrics } {
  const server = hash(serverId);
  const latency = new CellHistogram(
    {
      name: `${JWT}_latency_seconds`,
      help: 'Seconds that authenticating a token took that was not remembered.',
      labels: ['result', 'jwt_issuer_hash'],
    },
    BUCKETS,
    registry,
  );
  const fetched = new CellGauge(
    {
      name: `${JWT}_jwks_fetch_last_timestamp_seconds`,
      help: 'When keys were last fetched, by outcome.',
      labels: ['result', 'jwt_issuer_hash', 'apiserver_id_hash'],
    },
    registry,
  );
  const keySets = new CellGauge(
    {
      name: `${JWT}_jwks_fetch_last_key_set_info`,
      help: 'The key set fetched last, as a hash.',
      labels: ['jwt_issuer_hash', 'apiserver_id_hash', 'hash'],
    },
    registry,
  );
  const inUse = new Map<string, string>();
  const forget = (issuer: string): void => {
    const old = inUse.get(issuer);
    if (old !== undefined) keySets.drop(issuer, server, old);
    inUse.delete(issuer);
  };
  return {
    config: configMetrics(server, registry),
    oidc: {
      authenticated: (issuer, result, seconds) => {
        latency.cell(result, hash(issuer)).observe(seconds);
      },
      keysFetched: (url, result) => {
        const issuer = hash(url);
        fetched.cell(result === 'failure' ? 'failure' : 'success', issuer, server).value = clock.now() / 1000;
        if (result === 'failure') return;
        forget(issuer);
        inUse.set(issuer, hash(result.keySet));
        keySets.cell(issuer, server, hash(result.keySet)).value = 1;
      },
      dropped: (url) => {
        const issuer = hash(url);
        forget(issuer);
        for (const result of ['success', 'failure']) fetched.drop(result, issuer, server);
      },
    },
  };
}

function configMetrics(server: string, registry: Registry): ConfigMetrics {
  const labels = ['status', 'apiserver_id_hash'];
  const reloads = new CellCounter(
    {
      name: `${CONFIG}_automatic_reloads_total`,
      help: 'Total number of automatic reloads of authentication configuration split by status and apiserver identity.',
      labels,
    },
    registry,
  );
  const last = new CellGauge(
    {
      name: `${CONFIG}_automatic_reload_last_timestamp_seconds`,
      help: 'Timestamp of the last automatic reload of authentication configuration split by status and apiserver identity.',
      labels,
    },
    registry,
  );
  const info = new CellGauge(
    {
      name: `${CONFIG}_last_config_info`,
      help: 'Information about the last applied authentication configuration with hash as label, split by apiserver identity.',
      labels: ['apiserver_id_hash', 'hash'],
    },
    registry,
  );
  let current: string | undefined;
  return {
    reloaded: (status, at) => {
      reloads.cell(status, server).inc();
      last.cell(status, server).value = at / 1000;
    },
    inUse: (text) => {
      if (current !== undefined) info.drop(server, current);
      current = hash(text);
      info.cell(server, current).value = 1;
    },
  };
}
