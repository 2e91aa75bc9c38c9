import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { ClusterClient } from '../../client/cluster-client.js';
import { recordInCluster } from '../../aggregation/cluster-events.js';
import { adoptionEvents } from '../../adoption/reporting/adoption-events.js';
import { ObjectEvents } from '../../controllers/object-events.js';
import { AdoptionController } from '../../adoption/adoption-controller.js';
import type { AdoptionWrites } from '../../adoption/handover/adoption-writes.js';
import type { AdoptedDefinitions } from '../../adoption/handover/adopted-definitions.js';
import { KubeApiservers } from '../../adoption/cluster/kube-apiservers.js';
import { ReplicaStages, type Stages } from '../../adoption/replica-stages.js';
import { clusterLeases } from '../../client/lease.js';
import { ElectionLease } from '../../controllers/lease.js';
import { ADOPTIONS } from '../../registry/builtin/kubeannex/adoptions.js';
import { RESOURCE_DEFINITIONS } from '../../registry/builtin/kubeannex/resource-definitions.js';
import type { LoopbackClients, ResourceEventHandler } from '../../registry/rest/loopback-client.js';
import { errorLogger } from './controllers.js';
import type { Foundation } from './plane.js';
import type { ServerContext } from './server-context.js';

const LEASE = 'annex-adoptions';

export interface AdoptionDependencies {
  readonly client: ClusterClient;
  readonly local: LoopbackClients;
  readonly adopted: AdoptedDefinitions;
  readonly writes: AdoptionWrites;
  /** Receives every Adoption. */
  readonly metrics: ResourceEventHandler;
  readonly signal: AbortSignal;
}

/** Publishes in the store which adopted types this replica serves. Returns undefined if no other process can open the store. */
function replicaStages(
  { clock, logger }: ServerContext,
  { backend, registry }: Foundation,
  { adopted, writes }: Pick<AdoptionDependencies, 'adopted' | 'writes'>,
): ReplicaStages | undefined {
  const presence = backend.presence;
  if (presence === undefined) return undefined;
  const stages = (): Stages => {
    const known = adopted.stages();
    if (known.size === 0) return {};
    const served = new Set<string>();
    for (const api of registry.all()) {
      if (api.kind !== 'stored') continue;
      const { group, resource } = api.served.groupResource;
      served.add(`${resource}.${group}`);
    }
    // A type that no longer accepts writes counts as Closing only once the last write has ended.
    const stageOf = (name: string, stage: string): string =>
      stage === 'Closing' && !writes.isDrained(name) ? 'Served' : stage;
    const names = [...known.keys()].filter((name) => served.has(name)).sort();
    return Object.fromEntries(names.map((name): [string, string] => [name, stageOf(name, known.get(name) ?? '')]));
  };
  const failed = errorLogger({ logger }, 'adoption');
  return new ReplicaStages({ clock, presence, stages, onError: (error) => failed('presence', error) });
}

export interface Adoptions {
  /** Announces this replica to the others. Resolves once they know of it, which must be before requests can reach it. */
  readonly announce: () => Promise<void>;
  /** Carries out Adoptions while this replica holds the Lease. */
  readonly start: () => void;
}

export function adoptions(context: ServerContext, foundation: Foundation, parts: AdoptionDependencies): Adoptions {
  const replicas = replicaStages(context, foundation, parts);
  const singleReplica = { everywhere: () => Promise.resolve(), settled: () => Promise.resolve() };
  return {
    announce: () => replicas?.start(parts.signal) ?? Promise.resolve(),
    start: () => {
      parts.local.for(ADOPTIONS).watch(parts.metrics, parts.signal);
      recordEvents(context, parts);
      startAdoptions(context, foundation, { ...parts, replicas: replicas ?? singleReplica });
    },
  };
}

/** Reports the progress of Adoptions as events. */
function recordEvents({ clock, logger }: ServerContext, { client, local, signal }: AdoptionDependencies): void {
  const failed = errorLogger({ logger }, 'adoption');
  new ObjectEvents({
    name: 'adoption_events',
    eventsFor: adoptionEvents,
    client: local.for(ADOPTIONS),
    clock,
    record: (event) => recordInCluster(client, event),
    onError: (name, error) => failed(`${name}: cannot record the event`, error),
  }).start(signal);
}

function startAdoptions(
  { clock, options, logger }: ServerContext,
  { backend }: Pick<Foundation, 'backend'>,
  {
    adopted,
    client,
    local,
    replicas,
    signal,
  }: AdoptionDependencies & { readonly replicas: Pick<ReplicaStages, 'everywhere' | 'settled'> },
): void {
  const { admissionFromCluster, serviceNamespace: namespace, clusterApiServers: addresses } = options;
  const identity = `${hostname()}_${randomUUID().slice(0, 8)}`;
  const failed = errorLogger({ logger }, 'adoption');
  const controller = new AdoptionController({
    adoptions: local.for(ADOPTIONS),
    definitions: local.for(RESOURCE_DEFINITIONS),
    client,
    servers: new KubeApiservers({ client, clock, addresses }),
    replicas,
    backend,
    adopted,
    namespace,
    admissionFromCluster,
    clock,
    lease: new ElectionLease({
      leases: clusterLeases(client),
      clock,
      namespace,
      name: LEASE,
      identity,
      onError: (error) => failed('lease', error),
    }),
    identity,
    onError: failed,
  });
  void controller.run(signal);
}
