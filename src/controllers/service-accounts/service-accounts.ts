import type { LoopbackClients } from '../../registry/rest/loopback-client.js';
import type { Clock } from '../../util/clock.js';
import { NamespacedDefault } from '../namespaced-default.js';

const NAME = 'default';

/** Maintains a service account `default` in every namespace. */
export function defaultServiceAccounts(
  clients: LoopbackClients,
  clock: Clock,
  onError: (namespace: string, error: unknown) => void,
): NamespacedDefault {
  return new NamespacedDefault({
    queue: 'serviceaccount',
    clients,
    clock,
    resource: 'serviceaccounts',
    name: NAME,
    make: (namespace) => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: NAME, namespace } }),
    accepts: () => true,
    repair: () => undefined,
    onError,
  });
}
