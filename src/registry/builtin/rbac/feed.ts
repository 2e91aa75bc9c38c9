import type { NodeGraph } from '../../../authorization/node/node-graph.js';
import type { RbacIndex } from '../../../authorization/rbac/rbac-index.js';
import { RBAC_GROUP, type RbacKind } from '../../../authorization/rbac/types.js';
import type { LoopbackClients, ResourceEventHandler } from '../../rest/loopback-client.js';

const KINDS: readonly (readonly [RbacKind, string])[] = [
  ['Role', 'roles'],
  ['ClusterRole', 'clusterroles'],
  ['RoleBinding', 'rolebindings'],
  ['ClusterRoleBinding', 'clusterrolebindings'],
];

/** Feeds roles and bindings to the index. Resolves when all existing ones have been delivered. */
export async function feedRbacIndex(index: RbacIndex, clients: LoopbackClients, signal: AbortSignal): Promise<void> {
  const following = KINDS.map(([kind, resource]) => followKind(index, kind, resource, clients, signal));
  await Promise.all(following);
}

function followKind(
  index: RbacIndex,
  kind: RbacKind,
  resource: string,
  clients: LoopbackClients,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    // After a gap, objects are updated as they are delivered again; those that are not are removed at the end. So no request is
    // refused meanwhile.
    let delivered: Set<string> | undefined;
    clients.for({ group: RBAC_GROUP, resource }).watch(
      {
        upsert: (object) => {
          delivered?.add(`${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`);
          index.upsert(kind, object);
        },
        delete: ({ metadata: { namespace = '', name = '' } }) => {
          delivered?.delete(`${namespace}/${name}`);
          index.delete(kind, namespace, name);
        },
        reset: () => (delivered = new Set()),
        synced: () => {
          if (delivered !== undefined) index.retain(kind, delivered);
          delivered = undefined;
          resolve();
        },
      },
      signal,
    );
  });
}

/** Feeds pods and persistent volumes to the Node authorizer's graph. Resolves when all existing ones have been delivered. */
export async function feedNodeGraph(graph: NodeGraph, clients: LoopbackClients, signal: AbortSignal): Promise<void> {
  const follow = (resource: string, handler: ResourceEventHandler): Promise<void> =>
    new Promise((resolve) => clients.for({ group: '', resource }).watch({ ...handler, synced: resolve }, signal));
  await Promise.all([
    follow('pods', {
      upsert: (pod) => graph.upsertPod(pod),
      delete: ({ metadata: { namespace = '', name = '' } }) => graph.deletePod(namespace, name),
      reset: () => graph.clearPods(),
    }),
    follow('persistentvolumes', {
      upsert: (volume) => graph.upsertVolume(volume),
      delete: ({ metadata: { name = '' } }) => graph.deleteVolume(name),
      reset: () => graph.clearVolumes(),
    }),
  ]);
}
