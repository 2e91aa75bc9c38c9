import type { JsonObject } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';

export const KUBEANNEX = 'kubeannex.io';

export const text = (description: string, more: JsonObject = {}): JsonObject => ({
  type: 'string',
  description,
  ...more,
});
export const count = (description: string): JsonObject => ({
  type: 'integer',
  format: 'int64',
  minimum: 0,
  description,
});
export const fields = (description: string, properties: JsonObject, required: string[] = []): JsonObject => ({
  type: 'object',
  description,
  ...(required.length > 0 && { required }),
  properties,
});
export const listOf = (description: string, items: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'array',
  description,
  items,
  ...more,
});

export const column = (name: string, jsonPath: string, type = 'string'): JsonObject => ({ name, type, jsonPath });

/** Returns the definition of a kind of Annex's own group. It is not in the store, so clients cannot change it. */
export function ownDefinition(
  names: JsonObject & { readonly plural: string },
  scope: 'Cluster' | 'Namespaced',
  version: JsonObject & { readonly schema: JsonObject },
): KubeObject {
  const name = `${names.plural}.${KUBEANNEX}`;
  const { schema, ...rest } = version;
  return {
    apiVersion: `${KUBEANNEX}/v1`,
    kind: 'ResourceDefinition',
    metadata: { name, uid: name, generation: 1 },
    spec: {
      group: KUBEANNEX,
      scope,
      names,
      conversion: { strategy: 'None' },
      versions: [{ name: 'v1alpha1', served: true, storage: true, ...rest, schema: { openAPIV3Schema: schema } }],
    },
    status: {
      acceptedNames: names,
      storedVersions: ['v1alpha1'],
      conditions: ['NamesAccepted', 'Established'].map((type) => ({ type, status: 'True' })),
    },
  };
}
