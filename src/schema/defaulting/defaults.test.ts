import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../apimachinery/json/json.js';
import { CompiledSchema } from '../compile.js';
import { hasUnprunedDefaults } from './default-validation.js';

const string = { type: 'string' };

test.each([
  ['no defaults', { a: string }, 0, 0],
  [
    'scalars',
    { a: { ...string, default: 'x' }, b: { type: 'object', properties: { c: { ...string, default: '' } } } },
    2,
    0,
  ],
  ['a default that is an object', { a: { type: 'object', default: { b: 1, c: [1] } } }, 4, 0],
  [
    'items of a list',
    {
      a: {
        type: 'array',
        items: { type: 'object', properties: { b: { ...string, default: 'x' }, c: { ...string, default: 'x' } } },
      },
    },
    0,
    2,
  ],
  [
    'a default with items that get defaults',
    {
      a: {
        type: 'array',
        default: [{}, {}],
        items: { type: 'object', properties: { b: { ...string, default: 'x' } } },
      },
    },
    5,
    1,
  ],
])('bounds the defaults: %s', (_name, properties, once, perItem) => {
  expect(new CompiledSchema({ type: 'object', properties }).defaultsBound).toEqual({ once, perItem });
});

/** Returns the given object as an embedded resource `it` of the given schema, after defaulting. */
function defaulted(it: JsonObject, given: JsonObject = {}): JsonValue | undefined {
  const object: JsonObject = { it: given };
  new CompiledSchema({ type: 'object', properties: { it } }).applyDefaults(object);
  return object['it'];
}

describe('defaults in metadata are limited to the fields of ObjectMeta', () => {
  const embedded = { type: 'object', 'x-kubernetes-embedded-resource': true };
  const of = (metadata: JsonObject): JsonObject => ({ ...embedded, properties: { metadata } });

  test.each<[string, JsonObject, JsonObject, JsonValue]>([
    [
      'of its fields',
      of({ type: 'object', properties: { name: { ...string, default: 'n' }, unknown: { ...string, default: 'u' } } }),
      { metadata: {} },
      { metadata: { name: 'n' } },
    ],
    [
      'of itself, whether the schema names the fields or not',
      of({ type: 'object', default: { name: 'n', labels: { a: 'b' }, unknown: 'u' } }),
      {},
      { metadata: { name: 'n', labels: { a: 'b' } } },
    ],
    [
      'below fields that it lacks',
      of({
        type: 'object',
        properties: { unknown: { type: 'object', properties: { a: { ...string, default: 'x' } } } },
      }),
      { metadata: { unknown: {} } },
      { metadata: { unknown: {} } },
    ],
    [
      'of items',
      of({
        type: 'object',
        properties: {
          ownerReferences: {
            type: 'array',
            items: {
              type: 'object',
              properties: { name: { ...string, default: 'n' }, unknown: { ...string, default: 'u' } },
            },
          },
        },
      }),
      { metadata: { ownerReferences: [{}] } },
      { metadata: { ownerReferences: [{ name: 'n' }] } },
    ],
    [
      'of wrong types',
      of({ type: 'object', properties: { labels: { type: 'object', default: { a: 1 } } } }),
      { metadata: {} },
      { metadata: {} },
    ],
    [
      'where unknown fields are preserved',
      { ...of({ type: 'object', default: { unknown: 'u' } }), 'x-kubernetes-preserve-unknown-fields': true },
      {},
      { metadata: {} },
    ],
  ])('%s', (_name, schema, given, expected) => {
    expect(defaulted(schema, given)).toEqual(expected);
  });

  test('of the object itself', () => {
    const object: JsonObject = { metadata: {} };
    const name = { ...string, default: 'n' };
    const metadata = { type: 'object', properties: { name, unknown: { ...string, default: 'u' } } };
    new CompiledSchema({ type: 'object', properties: { metadata } }).applyDefaults(object);
    expect(object).toEqual({ metadata: { name: 'n' } });
  });
});

test.each<[string, JsonObject, boolean]>([
  ['known fields of metadata', { type: 'object', default: { name: 'n' } }, false],
  ['unknown fields of metadata', { type: 'object', default: { name: 'n', unknown: 'u' } }, true],
  ['an unknown field', { type: 'object', properties: { unknown: { ...string, default: 'u' } } }, true],
])('detects unpruned defaults in metadata: %s', (_name, metadata, expected) => {
  const it = { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { metadata } };
  expect(hasUnprunedDefaults({ type: 'object', properties: { it } })).toBe(expected);
});

const leaf = fc.constantFrom<JsonObject>(string, { ...string, default: 'x' }, { type: 'integer', default: 3 });
const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema'), { maxKeys: 3 }),
        ...{ default: fc.constantFrom<JsonValue>({}, { a: {} }) },
      },
      { requiredKeys: ['type', 'properties'] },
    ) as fc.Arbitrary<JsonObject>,
    fc.record({ type: fc.constant('array'), items: tie('schema') }),
    fc.record({ type: fc.constant('object'), additionalProperties: tie('schema') }),
  ),
}));
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constant<JsonValue>('v'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3 }) as fc.Arbitrary<JsonValue>,
  ),
}));

function count(of: JsonValue | undefined): { parts: number; objects: number } {
  if (typeof of !== 'object' || of === null) return { parts: 1, objects: 0 };
  const sum = { parts: 1, objects: Array.isArray(of) ? 0 : 1 };
  for (const member of Object.values(of)) {
    const below = count(member);
    sum.parts += below.parts;
    sum.objects += below.objects;
  }
  return sum;
}

test('no object grows by more than the bound', () => {
  fc.assert(
    fc.property(schema, value, (root, given) => {
      const compiled = new CompiledSchema({ type: 'object', properties: { root } });
      const object = { root: structuredClone(given) };
      const before = count(object);
      compiled.applyDefaults(object);
      const { once, perItem } = compiled.defaultsBound;
      expect(count(object).parts - before.parts).toBeLessThanOrEqual(once + before.objects * perItem);
    }),
    { numRuns: 500 },
  );
});
