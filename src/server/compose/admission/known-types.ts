import { type JsonObject, objectAt } from '../../../apimachinery/json/json.js';
import type { KnownTypes } from '../../../registry/builtin/admissionregistration/type-checking.js';
import type { ApiRegistry, StoredApi } from '../../../registry/generic/store/api-registry.js';
import type { BuiltinTypes } from '../../../structured-merge-diff/schema/builtin-types.js';

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
