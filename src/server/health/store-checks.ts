import type { Cacher } from '../../storage/cacher/interfaces.js';
import type { Health, StoreHealth } from '../../storage/interfaces.js';
import type { StoreOutage } from '../../storage/outage.js';
import type { HealthCheck, HealthEndpoint } from './health.js';

/** A health check and the endpoints that include it. */
export interface PlaneCheck extends HealthCheck {
  readonly endpoints: readonly HealthEndpoint[];
  /** Endpoints that evaluate the check for its metric and its path, but do not fail with it. */
  readonly reportedBy?: readonly HealthEndpoint[];
}

/** How long after an outage a replica may still be opening its change stream. */
const RECOVERY_MILLIS = 10_000;

export interface StoreCheckParts {
  readonly store: StoreHealth;
  readonly cacher: Pick<Cacher, 'healthy'>;
  readonly aggregated: boolean;
  /** Absent if the store is local. */
  readonly outage?: Pick<StoreOutage, 'age' | 'reason' | 'steadyMillis'> | undefined;
}

/**
 * Returns the health checks of the store and the cacher. As in kube-apiserver, /livez and /readyz fail with the store, but not in aggregated
 * mode: a restart would lose what is served from memory (discovery, OpenAPI, reads), and while every replica is unready, the whole cluster
 * suffers (docs/design/outage.md).
 */
export function storeChecks({ store, cacher, aggregated, outage }: StoreCheckParts): PlaneCheck[] {
  if (aggregated && outage !== undefined) return checksOfReplica(cacher, outage, store);
  // Both etcd checks share one ping: while the store is unavailable each ping takes seconds.
  let pendingPing: Promise<void> | undefined;
  const ping = (): Promise<void> => (pendingPing = store.ping());
  const sharedPing = (): Promise<void> => {
    const known = pendingPing;
    pendingPing = undefined;
    return known ?? store.ping();
  };
  const checks: PlaneCheck[] = [
    {
      name: 'etcd',
      check: ping,
      endpoints: aggregated ? ['healthz', 'readyz'] : ['healthz', 'livez', 'readyz'],
    },
    { name: 'etcd-readiness', check: sharedPing, endpoints: ['readyz'] },
    readyCheck('informer-sync', () => cacher.healthy()),
  ];
  if (store.following !== undefined) checks.push(readyCheck('change-stream', store.following));
  checks.push(readyCheck('store-writes', () => store.writing()));
  if (store.following !== undefined) checks.push(readyCheck('store-log', () => store.same()));
  return checks;
}

/** The checks of a replica that should be ready while the store is away, but not while others could replace it. */
function checksOfReplica(
  cacher: Pick<Cacher, 'healthy'>,
  outage: NonNullable<StoreCheckParts['outage']>,
  store: Pick<StoreHealth, 'following' | 'writing' | 'same'>,
): PlaneCheck[] {
  const answers = (): void => {
    if (outage.age !== undefined) throw new Error(outage.reason);
  };
  const onceSteady = (state: () => Health) => (): void => {
    if (outage.steadyMillis >= RECOVERY_MILLIS) throwUnlessOk(state());
  };
  const reportedBy = ['readyz'] as const;
  return [
    { name: 'etcd', check: answers, endpoints: ['healthz'], reportedBy },
    { name: 'etcd-readiness', check: answers, endpoints: [], reportedBy },
    { name: 'informer-sync', check: onceSteady(() => cacher.healthy()), endpoints: ['readyz'] },
    ...(store.following === undefined
      ? []
      : [{ name: 'change-stream', check: onceSteady(store.following), endpoints: reportedBy }]),
    { name: 'store-writes', check: () => throwUnlessOk(store.writing()), endpoints: [], reportedBy },
    readyCheck('store-log', () => store.same()),
  ];
}

function readyCheck(name: string, state: () => Health): PlaneCheck {
  const check = (): void => throwUnlessOk(state());
  return { name, check, endpoints: ['readyz'] };
}

function throwUnlessOk({ ok, reason }: Health): void {
  if (!ok) throw new Error(reason);
}
