import type { NodeGraph } from '../../../authorization/node/node-graph.js';
import type { RbacIndex } from '../../../authorization/rbac/rbac-index.js';
import { RBAC_GROUP, type RbacKind } from '../../../authorization/rbac/types.js';
import type { TypeClients } from '../../rest/type-client.js';

const KINDS: readonly (readonly [RbacKind, string])[] = [
  ['Role', 'roles'],
  ['ClusterRole', 'clusterroles'],
  ['RoleBinding', 'rolebindings'],
  ['ClusterRoleBinding', 'clusterrolebindings'],
];

/** Lets the index follow roles and bindings. `ready` is called once when all four kinds have been told. */
export function feedRbacIndex(index: RbacIndex, clients: TypeClients, ready: () => void, signal: AbortSignal): void {
  let waiting = KINDS.length;
  for (const [kind, resource] of KINDS) {
    // After a gap what comes anew is taken at once, and what did not come goes at the end, so that nobody is refused meanwhile.
    let told: Set<string> | undefined;
    let first = true;
    clients.for({ group: RBAC_GROUP, resource }).watch(
      {
        upsert: (object) => {
          told?.add(`${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`);
          index.upsert(kind, object);
        },
        delete: ({ metadata: { namespace = '', name = '' } }) => {
          told?.delete(`${namespace}/${name}`);
          index.delete(kind, namespace, name);
        },
        reset: () => (told = new Set()),
        synced: () => {
          if (told !== undefined) index.retain(kind, told);
          told = undefined;
          if (first && --waiting === 0) ready();
          first = false;
        },
      },
      signal,
    );
  }
}

/** Lets the Node authorizer's graph follow pods and persistent volumes. */
export function feedNodeGraph(graph: NodeGraph, clients: TypeClients, signal: AbortSignal): void {
  clients.for({ group: '', resource: 'pods' }).watch(
    {
      upsert: (pod) => graph.upsertPod(pod),
      delete: ({ metadata: { namespace = '', name = '' } }) => graph.deletePod(namespace, name),
      reset: () => graph.clearPods(),
      synced: () => undefined,
    },
    signal,
  );
  clients.for({ group: '', resource: 'persistentvolumes' }).watch(
    {
      upsert: (volume) => graph.upsertVolume(volume),
      delete: ({ metadata: { name = '' } }) => graph.deleteVolume(name),
      reset: () => graph.clearVolumes(),
      synced: () => undefined,
    },
    signal,
  );
}
