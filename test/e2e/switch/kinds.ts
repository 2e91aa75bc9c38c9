import type { JsonObject } from '../../../src/apimachinery/json/json.js';

/** The group of kinds that together use every field of a definition. */
export const ODD = 'odd.example.com';

const text = { type: 'string' };
const any = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const STATUS = { type: 'object', properties: { replicas: { type: 'integer' }, phase: text } };
const SCALE = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };

const schema = (spec: JsonObject): JsonObject => ({
  openAPIV3Schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties: spec }, status: STATUS },
  },
});

function definition(
  plural: string,
  kind: string,
  scope: string,
  versions: JsonObject[],
  more: JsonObject = {},
): string {
  return JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${ODD}` },
    spec: { group: ODD, scope, names: { plural, kind }, versions, ...more },
  });
}

const common = { free: any, replicas: { type: 'integer', default: 1 } };

/** Two versions, of which the second is stored, with a conversion webhook, status, and scale. */
export const things = (conversion: JsonObject): string =>
  definition(
    'things',
    'Thing',
    'Namespaced',
    [
      {
        ...{ name: 'v1', served: true, storage: false, schema: schema({ ...common, size: text }) },
        subresources: { status: {}, scale: SCALE },
      },
      {
        ...{ name: 'v2', served: true, storage: true, schema: schema({ ...common, width: text }) },
        subresources: { status: {}, scale: SCALE },
      },
    ],
    { conversion },
  );

/** A cluster-scoped kind. */
export const realms = (): string =>
  definition('realms', 'Realm', 'Cluster', [{ name: 'v1', served: true, storage: true, schema: schema(common) }]);

/** `strict`: the schema that the definition gets during the rehearsal, which some objects violate. */
export const loose = (strict: boolean): string =>
  definition('looses', 'Loose', 'Namespaced', [
    {
      ...{ name: 'v1', served: true, storage: true },
      schema: schema({ colour: strict ? { ...text, enum: ['red', 'green'] } : text, note: text }),
      ...(strict && { additionalPrinterColumns: [{ name: 'Colour', type: 'string', jsonPath: '.spec.colour' }] }),
    },
  ]);

export function objectText(kind: string, version: string, metadata: JsonObject, spec: JsonObject): string {
  return JSON.stringify({ apiVersion: `${ODD}/${version}`, kind, metadata, spec });
}
