import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { ClusterClient } from '../../client/cluster-client.js';
import { AdoptionController } from '../../controllers/adoption/adoption-controller.js';
import { ClusterLease } from '../../controllers/adoption/lease.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import { failureLog } from './controllers.js';
import type { Foundation } from './plane.js';
import type { ServerContext } from './server-context.js';

const LEASE = 'annex-adoptions';

export interface AdoptionDependencies {
  readonly client: ClusterClient;
  readonly adoptions: LoopbackClient;
  readonly signal: AbortSignal;
}

/** Carries out Adoptions while this replica holds the Lease. */
export function startAdoptions(
  { clock, options, logger }: ServerContext,
  { backend }: Pick<Foundation, 'backend'>,
  { adoptions, client, signal }: AdoptionDependencies,
): Promise<void> {
  const identity = `${hostname()}_${randomUUID().slice(0, 8)}`;
  const failed = failureLog({ logger }, 'adoption');
  const lease = new ClusterLease({
    client,
    clock,
    namespace: options.serviceNamespace,
    name: LEASE,
    identity,
    failed: (error) => {
      failed('lease', error);
    },
  });
  void new AdoptionController({ adoptions, client, backend, clock, lease, identity, failed }).run(signal);
  return Promise.resolve();
}
