import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { Authorizer } from '../../../authorization/authorizer/interfaces.js';
import type { ParamAccess } from '../../../registry/builtin/admissionregistration/shared/param-access.js';
import type { ResourceStore } from '../../../registry/generic/store/resource-store.js';
import type { ApiRegistry } from '../../../registry/generic/store/api-registry.js';

const RESOURCES: Readonly<Record<string, string>> = {
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  MutatingAdmissionPolicy: 'mutatingadmissionpolicies',
};

/** What writes of admission policies and bindings look up; `stores` is called when the first of them comes. */
export function paramAccess(
  authorizer: Authorizer,
  registry: ApiRegistry,
  stores: () => ReadonlyMap<string, ResourceStore>,
): ParamAccess {
  return {
    authorizer,
    resourceOf: (kind) => registry.resourceOfKind(kind),
    policy: (kind, name) => {
      const store = stores().get(`${RESOURCES[kind] ?? ''}.admissionregistration.k8s.io`);
      return store?.cache.peek(name)?.decode() as KubeObject | undefined;
    },
  };
}
