import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { Authorizer } from '../../../authorization/authorizer/interfaces.js';
import type { ParamAccess } from '../../../registry/builtin/admissionregistration/shared/param-access.js';
import type { ApiRegistry } from '../../../registry/generic/store/api-registry.js';

const RESOURCES: Readonly<Record<string, string>> = {
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  MutatingAdmissionPolicy: 'mutatingadmissionpolicies',
};

/** Returns the lookups that writes of admission policies and bindings need. */
export function paramAccess(authorizer: Authorizer, registry: ApiRegistry): ParamAccess {
  return {
    authorizer,
    resourceOf: (kind) => registry.resourceOfKind(kind),
    policy: (kind, name) => {
      const type = { group: 'admissionregistration.k8s.io', version: 'v1', resource: RESOURCES[kind] ?? '' };
      const store = registry.storeOf(type);
      return store?.cache.peek(name)?.decode() as KubeObject | undefined;
    },
  };
}
