import { ApiError, newForbidden, newNotFound } from '../../apimachinery/meta/errors.js';
import { hasDeletionTimestamp, type KubeObject } from '../../apimachinery/meta/meta.js';
import type { AdmissionAttributes, AdmissionPlugin } from '../interfaces.js';
import { refusal } from '../refusal.js';
import type { NamespaceSource } from '../sources.js';
import { isCore } from './core-resources.js';
import { then } from '../../util/maybe-promise.js';

/** Namespaces that cannot be deleted. */
const IMMORTAL_NAMESPACES = new Set(['default', 'kube-system', 'kube-public']);
const NAMESPACES = { group: '', resource: 'namespaces' };

/** Refuses to create objects in namespaces that do not exist or are being deleted, and to delete the namespaces that must stay. */
export function namespaceLifecycle(namespaces: NamespaceSource): AdmissionPlugin {
  return {
    name: 'NamespaceLifecycle',
    handles: (operation) => operation !== 'CONNECT',
    readsObjects: () => false,
    admit(attributes) {
      const { operation, resource, namespace, name } = attributes;
      const isNamespace = isCore(resource, 'namespaces');
      if (operation === 'DELETE' && isNamespace && attributes.subresource === '' && IMMORTAL_NAMESPACES.has(name)) {
        throw newForbidden(resource, name, 'this namespace may not be deleted');
      }
      // Namespaces themselves, cluster-scoped objects, deletions and access reviews are admitted.
      if (isNamespace || namespace === '' || operation === 'DELETE' || isAccessReview(attributes)) return;
      return then(namespaces.get(namespace), (found) => check(attributes, found));
    },
  };
}

function isAccessReview(attributes: AdmissionAttributes): boolean {
  return (
    attributes.resource.group === 'authorization.k8s.io' && attributes.resource.resource === 'localsubjectaccessreviews'
  );
}

function check(attributes: AdmissionAttributes, namespace: KubeObject | undefined): void {
  if (namespace === undefined) throw newNotFound(NAMESPACES, attributes.namespace);
  if (attributes.operation !== 'CREATE') return;
  const phase = (namespace['status'] as { phase?: string } | undefined)?.phase;
  if (phase !== 'Terminating' && !hasDeletionTimestamp(namespace)) return;
  const why = `unable to create new content in namespace ${attributes.namespace} because it is being terminated`;
  const refused = refusal(attributes, why);
  throw new ApiError(refused.code, refused.reason, refused.message, {
    ...refused.details,
    causes: [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${attributes.namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  });
}
