import type { Cacher } from '../../storage/cacher/interfaces.js';
import type { Health, StoreHealth } from '../../storage/interfaces.js';
import type { HealthCheck, HealthEndpoint } from './health.js';

/** A health check and the endpoints that include it. */
export interface PlaneCheck extends HealthCheck {
  readonly endpoints: readonly HealthEndpoint[];
}

/**
 * Returns the health checks of the store and the cacher. As in kube-apiserver, /livez fails with the store, but not in aggregated
 * mode: there the store is elsewhere, a restart would not help, and it would lose what is served from memory in the meantime
 * (discovery, OpenAPI, reads).
 */
export function storeChecks(store: StoreHealth, cacher: Pick<Cacher, 'healthy'>, aggregated: boolean): PlaneCheck[] {
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
    { name: 'informer-sync', check: () => throwUnlessOk(cacher.healthy()), endpoints: ['readyz'] },
  ];
  if (store.following !== undefined) checks.push(readyCheck('change-stream', store.following));
  checks.push(readyCheck('store-writes', () => store.writing()));
  return checks;
}

function readyCheck(name: string, state: () => Health): PlaneCheck {
  const check = (): void => throwUnlessOk(state());
  return { name, check, endpoints: ['readyz'] };
}

function throwUnlessOk({ ok, reason }: Health): void {
  if (!ok) throw new Error(reason);
}
