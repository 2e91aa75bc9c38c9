import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { ClusterClient } from '../../client/cluster-client.js';
import { AdoptionController } from '../../controllers/adoption/adoption-controller.js';
import type { AdoptedDefinitions } from '../../apimachinery/meta/adopted-definitions.js';
import { KubeApiservers } from '../../controllers/adoption/switch/kube-apiservers.js';
import { ClusterLease } from '../../controllers/adoption/lease.js';
import { ADOPTIONS } from '../../registry/builtin/kubeannex/adoptions.js';
import { RESOURCE_DEFINITIONS } from '../../registry/builtin/kubeannex/resource-definitions.js';
import type { LoopbackClients } from '../../registry/rest/loopback-client.js';
import { failureLog } from './controllers.js';
import type { Foundation } from './plane.js';
import type { ServerContext } from './server-context.js';

const LEASE = 'annex-adoptions';

export interface AdoptionDependencies {
  readonly client: ClusterClient;
  readonly local: LoopbackClients;
  readonly adopted: AdoptedDefinitions;
  readonly signal: AbortSignal;
}

/** Carries out Adoptions while this replica holds the Lease. */
export function startAdoptions(
  { clock, options, logger }: ServerContext,
  { backend }: Pick<Foundation, 'backend'>,
  { adopted, client, local, signal }: AdoptionDependencies,
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
  const { serviceNamespace: namespace, clusterApiServers: addresses } = options;
  const [adoptions, definitions] = [local.for(ADOPTIONS), local.for(RESOURCE_DEFINITIONS)];
  const servers = new KubeApiservers({ client, clock, addresses });
  void new AdoptionController({
    ...{ adopted, adoptions, backend, client, clock, definitions, failed, identity, lease, namespace, servers },
  }).run(signal);
  return Promise.resolve();
}
