import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { ClusterClient } from '../../client/cluster-client.js';
import { AdoptionController } from '../../controllers/adoption/adoption-controller.js';
import { ClusterLease } from '../../controllers/adoption/lease.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import type { Foundation } from './plane.js';
import type { ServerContext } from './server-context.js';

const LEASE = 'annex-adoptions';

export interface AdoptionDependencies {
  readonly client: ClusterClient;
  readonly adoptions: LoopbackClient;
  readonly failed: (what: string, error: unknown) => void;
}

/** Carries out Adoptions on the replica that holds the Lease. */
export function adoptionController(
  { clock, options }: ServerContext,
  { backend }: Pick<Foundation, 'backend'>,
  { adoptions, client, failed }: AdoptionDependencies,
): AdoptionController {
  const identity = `${hostname()}_${randomUUID().slice(0, 8)}`;
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
  return new AdoptionController({ adoptions, client, backend, clock, lease, identity, failed });
}
