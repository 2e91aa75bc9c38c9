import type { AdmissionSources } from '../../../admission/sources.js';
import { type JsonObject, objectAt } from '../../../apimachinery/json/json.js';
import { formatGroupResource, type GroupVersionResource, type KubeObject } from '../../../apimachinery/meta/meta.js';
import type { Authorizer } from '../../../authorization/authorizer/interfaces.js';
import type { ParamAccess } from '../../../registry/builtin/admissionregistration/shared/param-access.js';
import type { KnownTypes } from '../../../registry/builtin/admissionregistration/type-checking.js';
import type { ApiRegistry, StoredApi } from '../../../registry/generic/store/api-registry.js';
import { LocalConfigurations } from '../../../registry/sources/local-configurations.js';
import { LocalNamespaces } from '../../../registry/sources/local-namespaces.js';
import { LocalParams } from '../../../registry/sources/local-params.js';
import type { BuiltinTypes } from '../../../structured-merge-diff/schema/builtin-types.js';

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

const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const STRING: JsonObject = { type: 'string' };

/** Returns the served types, for checking expressions against their schemas. */
export function knownTypes(registry: ApiRegistry, mergeTypes: BuiltinTypes): KnownTypes {
  const serving = (group: string, version: string, resource: string | undefined): StoredApi | undefined => {
    const api = resource === undefined ? undefined : registry.lookup(group, version, resource);
    return api?.kind === 'stored' ? api : undefined;
  };
  return {
    kindOf: ({ group, version, resource }) => serving(group, version, resource)?.served.gvk,
    schemaOf(kind) {
      const api = serving(kind.group, kind.version, registry.resourceOfKind(kind));
      const schema = api?.served.admission.schemaOf(kind);
      if (schema === undefined || api?.served.type.custom !== true) return schema;
      // Use the published form, which includes the fields that every object has.
      const metadata = mergeTypes.schemaNamed(OBJECT_META);
      const properties = { ...objectAt(schema, 'properties'), apiVersion: STRING, kind: STRING, metadata };
      return { ...schema, properties };
    },
  };
}
