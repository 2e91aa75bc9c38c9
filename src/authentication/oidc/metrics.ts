import type { Registry } from 'prom-client';
import { type ConfigMetrics, configMetrics, hashLabel as hash } from '../../util/files/config-metrics.js';
import { metricsOf } from '../../util/metrics/metrics.js';
import type { Clock } from '../../util/clock.js';
import type { OidcMetrics } from './authenticator.js';

const JWT = 'apiserver_authentication_jwt_authenticator';
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Metrics of the providers and of their configuration, under kube-apiserver's names. Create them once per registry. */
export function oidcMetrics(
  serverId: string,
  clock: Clock,
  registry: Registry,
): { readonly oidc: OidcMetrics; readonly config: ConfigMetrics } {
  const { gauge, histogram } = metricsOf(registry);
  const server = hash(serverId);
  const latency = histogram(
    `${JWT}_latency_seconds`,
    'Seconds taken to authenticate a token that was not cached.',
    ['result', 'jwt_issuer_hash'],
    BUCKETS,
  );
  const fetched = gauge(`${JWT}_jwks_fetch_last_timestamp_seconds`, 'Time of the last key set fetch, by result.', [
    'result',
    'jwt_issuer_hash',
    'apiserver_id_hash',
  ]);
  const keySets = gauge(`${JWT}_jwks_fetch_last_key_set_info`, 'Hash of the most recently fetched key set.', [
    'jwt_issuer_hash',
    'apiserver_id_hash',
    'hash',
  ]);
  const inUse = new Map<string, string>();
  const forget = (issuer: string): void => {
    const old = inUse.get(issuer);
    if (old !== undefined) keySets.deleteLabelValues(issuer, server, old);
    inUse.delete(issuer);
  };
  return {
    config: configMetrics('authentication', server, registry),
    oidc: {
      authenticated: (issuer, result, seconds) => latency.withLabelValues(result, hash(issuer)).observe(seconds),
      keysFetched: (url, result) => {
        const issuer = hash(url);
        fetched.withLabelValues(result === 'failure' ? 'failure' : 'success', issuer, server).value =
          clock.now() / 1000;
        if (result === 'failure') return;
        forget(issuer);
        inUse.set(issuer, hash(result.keySet));
        keySets.withLabelValues(issuer, server, hash(result.keySet)).value = 1;
      },
      dropped: (url) => {
        const issuer = hash(url);
        forget(issuer);
        for (const result of ['success', 'failure']) fetched.deleteLabelValues(result, issuer, server);
      },
    },
  };
}
