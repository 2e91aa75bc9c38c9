import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../src/apimachinery/json/json.js';
import type { FuzzRequest } from './client.js';
import { type Edit, edited, type Path, pathsOf, utf8 } from './mutations.js';
import { mostly, pick } from './parts.js';

const PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Values of every kind, for places where most of them are invalid. */
const WRONG: readonly JsonValue[] = [
  1,
  -1,
  1.5,
  1e30,
  'x',
  '',
  true,
  false,
  null,
  [],
  {},
  [1],
  ['x'],
  [null],
  [{}],
  { a: 1 },
  { type: 'string' },
];

/** Keywords of one level of a schema, with valid and invalid values. */
const SAID: readonly (readonly [string, readonly JsonValue[]])[] = [
  ['type', ['string', 'integer', 'number', 'boolean', 'object', 'array', '', 'foo']],
  ['format', ['date-time', 'int32', 'foo', '']],
  ['nullable', [true]],
  ['default', ['x', 1, null, {}, [], [1], { a: 1 }, true]],
  ['enum', [['a', 'b'], ['a', 'a'], [], [1, 'x', null], [{ a: [] }], [[]]]],
  ['required', [['a'], ['a', 'a'], [], ['none']]],
  ['properties', [{}, { a: {} }, { a: { type: 'string' } }, { 'x-y': { type: 'string' } }, { a: { type: 'array' } }]],
  ['additionalProperties', [true, false, {}, { type: 'string' }, { type: 'array' }]],
  [
    'items',
    [{}, { type: 'string' }, { type: 'object' }, [{ type: 'string' }], { type: 'array', items: { type: 'string' } }],
  ],
  ['minLength', [0, 5, -1]],
  ['maxLength', [0, 5, -1]],
  ['minItems', [1, -1]],
  ['maxItems', [0, 1]],
  ['minProperties', [1]],
  ['maxProperties', [1]],
  ['minimum', [0, 1.5, 5]],
  ['maximum', [0, 1.5, 3]],
  ['exclusiveMinimum', [true]],
  ['multipleOf', [0, 2, -1, 0.5]],
  ['uniqueItems', [true, false]],
  ['pattern', ['^a$', '[', '(?=a)', '']],
  ['allOf', [[], [{}], [{ type: 'string' }], [{ properties: { a: { type: 'string' } } }], [{ minLength: 1 }]]],
  ['anyOf', [[{ type: 'integer' }, { type: 'string' }], [{ required: ['a'] }], [{ description: 'x' }]]],
  ['oneOf', [[{ minimum: 1 }], [{ default: 1 }]]],
  ['not', [{}, { required: ['a'] }, { type: 'string' }, { additionalProperties: false }]],
  ['$ref', ['#/definitions/x', '']],
  ['definitions', [{ a: {} }]],
  ['dependencies', [{ a: ['b'] }]],
  ['patternProperties', [{ a: {} }]],
  ['additionalItems', [true, false, {}]],
  ['id', ['x']],
  ['$schema', ['http://json-schema.org/draft-04/schema#', 'x']],
  ['title', ['t']],
  ['example', [1, {}, []]],
  ['externalDocs', [{ url: 'x' }, {}]],
  ['x-kubernetes-preserve-unknown-fields', [true, false]],
  ['x-kubernetes-embedded-resource', [true]],
  ['x-kubernetes-int-or-string', [true, false]],
  ['x-kubernetes-list-type', ['set', 'map', 'atomic', 'foo']],
  ['x-kubernetes-list-map-keys', [['a'], ['none'], [], ['a', 'a']]],
  ['x-kubernetes-map-type', ['granular', 'atomic', 'foo']],
  [
    'x-kubernetes-validations',
    [
      [{ rule: 'true' }],
      [{ rule: '' }],
      [{ rule: 'self.' }],
      [{ rule: 'self == oldSelf', message: '' }],
      [{ rule: 'true', message: 'a\nb' }],
      [{ rule: 'true', reason: 'foo' }],
      [{ rule: 'true', fieldPath: '.none' }],
      [],
    ],
  ],
  ['unknown', [1]],
];

const BASE: JsonObject = {
  type: 'object',
  description: 'd',
  properties: {
    spec: {
      type: 'object',
      properties: {
        text: { type: 'string' },
        count: { type: 'integer' },
        list: { type: 'array', items: { type: 'object', properties: { a: { type: 'string' } } } },
        map: { type: 'object', additionalProperties: { type: 'string' } },
        either: { 'x-kubernetes-int-or-string': true },
        open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
    status: { type: 'object', properties: { a: { type: 'string' } } },
  },
};

const isSchema = (path: Path): boolean => {
  const key = path.at(-1);
  const above = path.at(-2);
  return path.length === 0 || key === 'items' || key === 'additionalProperties' || above === 'properties';
};

/** Sets a keyword at some level of the schema. */
const says: fc.Arbitrary<Edit> = fc
  .tuple(
    fc.nat(1000),
    pick(SAID).chain(([key, list]) =>
      fc
        .oneof({ weight: 5, arbitrary: pick(list) }, { weight: 1, arbitrary: pick(WRONG) })
        .map((value) => [key, value] as const),
    ),
  )
  .map(([at, [key, value]]): Edit => (schema) => {
    const levels = [[], ...pathsOf(schema)].filter(isSchema);
    const path = levels[at % levels.length] ?? [];
    return edited(schema, [...path, key], (container) => {
      container[key] = value;
    });
  });

/** Puts a value of the wrong kind at any path. */
const breaks: fc.Arbitrary<Edit> = fc.tuple(fc.nat(1000), pick(WRONG)).map(([at, value]): Edit => (object) => {
  const paths = pathsOf(object);
  return edited(object, paths[at % paths.length] ?? ['type'], (container, key) => {
    container[key] = value;
  });
});

const definition = (schema: JsonObject): JsonObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'dry.fuzz.example.com' },
  spec: {
    group: 'fuzz.example.com',
    scope: 'Namespaced',
    names: { plural: 'dry', singular: 'dry', kind: 'Dry', listKind: 'DryList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: schema },
        subresources: { status: {}, scale: { specReplicasPath: '.spec.count', statusReplicasPath: '.status.count' } },
        additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.spec.text' }],
        selectableFields: [{ jsonPath: '.spec.text' }],
      },
    ],
  },
});

const all =
  (list: readonly Edit[]): Edit =>
  (object) =>
    list.reduce((value, one) => one(value), object);

/** Dry-run creations of definitions whose schemas are valid, contradictory, or of the wrong kind. */
export const definitions: fc.Arbitrary<FuzzRequest> = fc
  .tuple(
    fc.array(says, { maxLength: 4 }).map(all),
    mostly<readonly Edit[]>([], fc.array(breaks, { minLength: 1, maxLength: 3 }), 3).map(all),
    pick(['Strict', 'Warn', 'Ignore']),
  )
  .map(([say, wrong, validation]) => ({
    method: 'POST',
    path: `${PATH}?dryRun=All&fieldValidation=${validation}`,
    headers: { 'content-type': 'application/json' },
    body: utf8(JSON.stringify(wrong(definition(say(BASE))))),
  }));
