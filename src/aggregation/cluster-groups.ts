import type { AdmissionPlugin } from '../admission/interfaces.js';
import { newForbidden } from '../apimachinery/meta/errors.js';
import { type GroupResource, groupOf } from '../apimachinery/meta/meta.js';
import { LOOPBACK_USER } from '../authentication/user/user.js';

/** The groups of Kubernetes, whether or not a cluster serves them: clients trust their types. */
const KUBERNETES_GROUPS: ReadonlySet<string> = new Set([
  ...['apps', 'autoscaling', 'batch', 'extensions', 'policy'],
  ...[
    'admission',
    'admissionregistration',
    'apidiscovery',
    'apiextensions',
    'apiregistration',
    'apiserver',
    'audit',
    'authentication',
    'authorization',
    'certificates',
    'client.authentication',
    'coordination',
    'custom.metrics',
    'discovery',
    'events',
    'external.metrics',
    'flowcontrol.apiserver',
    'imagepolicy',
    'internal.apiserver',
    'meta',
    'metrics',
    'networking',
    'node',
    'rbac.authorization',
    'resource',
    'scheduling',
    'storage',
    'storagemigration',
  ].map((name) => `${name}.k8s.io`),
]);

/** Reports whether the types of a group are Kubernetes' own. */
const isKubernetesGroup = (group: string): boolean => KUBERNETES_GROUPS.has(group);

/**
 * Rejects ResourceDefinitions in groups of Kubernetes: kubectl and controllers would take the types for those of Kubernetes, for instance in
 * a version of rbac.authorization.k8s.io that kubectl prefers, or as the metrics of pods. `allowed` are exempt.
 */
export function kubernetesGroups(definitions: GroupResource, allowed: readonly string[]): AdmissionPlugin {
  return {
    name: 'KubernetesGroups',
    handles: (operation) => operation === 'CREATE',
    readsObjects: ({ group, resource }) => group === definitions.group && resource === definitions.resource,
    validate: ({ resource, name, object, user }) => {
      if (resource.group !== definitions.group || resource.resource !== definitions.resource) return;
      const group = object === undefined ? '' : groupOf(object);
      if (!isKubernetesGroup(group) || allowed.includes(group) || user === LOOPBACK_USER) return;
      throw newForbidden(
        resource,
        name,
        `the group ${group} belongs to Kubernetes; Annex serves types in it only with --allow-cluster-groups=${group}`,
      );
    },
  };
}
