import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { AdmissionChain, AdmissionPlugin } from '../../admission/interfaces.js';
import type { GroupResource, KubeObject } from '../../apimachinery/meta/meta.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import { clusterLeases } from '../../client/lease.js';
import { ElectionLease } from '../../controllers/lease.js';
import type { ComputedKind } from '../../registry/rest/computed.js';
import type { LoopbackClients } from '../../registry/rest/loopback-client.js';
import type { Backend } from '../../storage/interfaces.js';
import { deletionWarning } from '../../undo/deletion-warning.js';
import { restoreCreator } from '../../undo/restore/creator.js';
import { OBJECT_RESTORES, restoreDefinition } from '../../undo/restore/definition.js';
import { localOwners, type OwnerLookup } from '../../undo/restore/owners.js';
import { RestoreController } from '../../undo/restore/restore-controller.js';
import { Restorer } from '../../undo/restore/restorer.js';
import { RETENTIONS, retentionDefinition } from '../../undo/retention/definition.js';
import { RetentionController } from '../../undo/retention/retention-controller.js';
import { revisionKinds } from '../../undo/revisions/kinds.js';
import { aborted } from '../../util/clock.js';
import { errorLogger } from './controllers.js';
import type { Foundation } from './plane.js';
import type { ServerContext } from './server-context.js';

/** The Lease by which the replicas of a release elect the one that carries out restores. */
const LEASE = 'annex-restores';

/** Returns the definitions of the stored types of undo. A store that keeps no history has none. */
export const undoDefinitions = ({ kept }: Pick<Backend, 'kept'>): KubeObject[] =>
  kept === undefined ? [] : [restoreDefinition(), retentionDefinition()];

/** Returns the admission plugins of undo, which run whatever the flags say. */
export const undoPlugins = ({
  backend: { kept },
  registry,
}: Pick<Foundation, 'backend' | 'registry'>): AdmissionPlugin[] => [
  restoreCreator(),
  ...deletionWarning({ kept, registry }),
];

/** Returns the kinds whose objects are the revisions of others. */
export const undoKinds = (
  { clock }: Pick<ServerContext, 'clock'>,
  { backend: { kept }, registry }: Pick<Foundation, 'backend' | 'registry'>,
  authorizer: Authorizer,
): ComputedKind[] => (kept === undefined ? [] : revisionKinds({ kept, authorizer, registry, clock }));

export interface UndoParts extends Pick<Foundation, 'backend' | 'registry'> {
  readonly authorizer: Authorizer;
  readonly admission: AdmissionChain;
  readonly clients: LoopbackClients;
  /** The type whose objects are definitions. */
  readonly definitions: GroupResource;
  readonly ownerExists?: OwnerLookup;
  readonly signal: AbortSignal;
}

/** Carries out restores and retentions until the signal aborts. For one server at a time. */
export function startRestores({ clock, logger }: Pick<ServerContext, 'clock' | 'logger'>, parts: UndoParts): void {
  const { backend, registry, authorizer, admission, clients, definitions, signal } = parts;
  const { kept } = backend;
  if (kept === undefined) return;
  const { ownerExists = localOwners(registry) } = parts;
  const restorer = new Restorer({ kept, registry, clock, definitions, ownerExists });
  const restores = clients.for(OBJECT_RESTORES);
  const onError = errorLogger({ logger }, 'restore');
  new RestoreController({ restores, restorer, authorizer, admission, clock, onError }).start(signal);
  const retentions = clients.for(RETENTIONS);
  new RetentionController({ retentions, kept, clock, onError: errorLogger({ logger }, 'retention') }).start(signal);
}

/** Carries out restores while this replica leads. */
export function contendForRestores(context: ServerContext, client: ClusterClient, parts: UndoParts): void {
  const { clock, options } = context;
  if (parts.backend.kept === undefined) return;
  if (parts.backend.presence === undefined) {
    startRestores(context, parts);
    return;
  }
  const failed = errorLogger(context, 'restore');
  const lease = new ElectionLease({
    leases: clusterLeases(client),
    clock,
    namespace: options.serviceNamespace,
    name: LEASE,
    identity: `${hostname()}_${randomUUID().slice(0, 8)}`,
    onError: (error) => failed('lease', error),
  });
  void lease.contend(parts.signal, async (signal) => {
    startRestores(context, { ...parts, signal });
    await aborted(signal);
  });
}
