import type { AdmissionSources } from '../../../admission/sources.js';
import { formatGroupResource, type GroupVersionResource } from '../../../apimachinery/meta/meta.js';
import type { ApiRegistry, StoredApi } from '../../../registry/generic/store/api-registry.js';
import { LocalConfigurations } from '../../../registry/sources/local-configurations.js';
import { LocalNamespaces } from '../../../registry/sources/local-namespaces.js';
import { LocalParams } from '../../../registry/sources/local-params.js';

const GROUP = 'admissionregistration.k8s.io';

/** Returns the configuration sources of admission in standalone mode: the server's own objects. The built-in types must be installed. */
export function localSources(registry: ApiRegistry): AdmissionSources {
  const of = (resource: string): LocalConfigurations =>
    localConfigurations(registry, { group: GROUP, version: 'v1', resource });
  return {
    get mutatingWebhooks() {
      return of('mutatingwebhookconfigurations');
    },
    get validatingWebhooks() {
      return of('validatingwebhookconfigurations');
    },
    mutatingPolicies: of('mutatingadmissionpolicies'),
    mutatingPolicyBindings: of('mutatingadmissionpolicybindings'),
    validatingPolicies: of('validatingadmissionpolicies'),
    validatingPolicyBindings: of('validatingadmissionpolicybindings'),
    params: new LocalParams(registry),
    namespaces: localNamespaces(registry),
  };
}

export function localConfigurations(registry: ApiRegistry, type: GroupVersionResource): LocalConfigurations {
  const { store, served } = builtin(registry, type);
  return new LocalConfigurations(store.cache, served);
}

export const localNamespaces = (registry: ApiRegistry): LocalNamespaces =>
  new LocalNamespaces(builtin(registry, { group: '', version: 'v1', resource: 'namespaces' }).store);

/** Returns a built-in API. Admission uses stored configurations even if clients cannot see their type. */
function builtin(registry: ApiRegistry, type: GroupVersionResource): StoredApi {
  const api = registry.lookup(type.group, type.version, type.resource) ?? registry.hidden(type);
  if (api?.kind !== 'stored' || api.served.version.name !== type.version)
    throw new Error(`${formatGroupResource(type)} is not installed in ${type.version}`);
  return api;
}
