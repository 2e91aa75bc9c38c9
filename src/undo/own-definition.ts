import type { JsonObject } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { ownDefinition as definitionOf } from '../registry/builtin/kubeannex/schemas.js';

/** A cluster-scoped type of Annex's own, whose objects are stored and whose definition is not. */
export interface OwnType {
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly columns: readonly JsonObject[];
  /** The schema of its objects, without apiVersion, kind and metadata. */
  readonly schema: JsonObject & { readonly properties: JsonObject };
}

/** Returns the definition of a type. */
export function ownDefinition({ plural, singular, kind, shortNames, columns, schema }: OwnType): KubeObject {
  const names = { plural, singular, kind, listKind: `${kind}List`, shortNames: [...shortNames] };
  const properties = {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    ...schema.properties,
  };
  return definitionOf(names, 'Cluster', {
    subresources: { status: {} },
    additionalPrinterColumns: [...columns],
    schema: { ...schema, type: 'object', properties },
  });
}

/** The schema of the conditions of a status. */
export const conditionsSchema = (description: string): JsonObject => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  description,
  items: {
    type: 'object',
    required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
    properties: {
      type: { type: 'string', description: 'The type of the condition.' },
      status: { type: 'string', enum: ['True', 'False', 'Unknown'], description: 'The status of the condition.' },
      reason: { type: 'string', description: 'The reason for the status, in CamelCase.' },
      message: { type: 'string', description: 'A human-readable explanation of the status.' },
      lastTransitionTime: {
        type: 'string',
        format: 'date-time',
        description: 'The time of the last change of the status.',
      },
      observedGeneration: {
        type: 'integer',
        format: 'int64',
        description: 'The generation of the spec that the condition was set for.',
      },
    },
  },
});
