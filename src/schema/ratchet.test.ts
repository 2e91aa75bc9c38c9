import type { JsonObject, JsonValue } from '../apimachinery/json/json.js';
import { CompiledSchema } from './compile.js';

const schema = new CompiledSchema(
  {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          other: { type: 'string' },
          items: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['k'],
            items: { type: 'object', required: ['k'], properties: { k: { type: 'string' }, v: { maximum: 5 } } },
          },
        },
      },
    },
  },
  {},
);
const thing = (other: string, items: JsonObject[]): JsonObject => ({ spec: { other, items: structuredClone(items) } });
const errors = (items: JsonObject[]): string[] =>
  schema.validate(thing('new', items), { old: thing('old', items) }).map(String);

test('invalid items that correlate by their keys are accepted', () => {
  expect(errors([{ k: 'a', v: 7 }])).toEqual([]);
});

test('an item without all of its keys does not correlate, even with itself', () => {
  expect(errors([{ v: 7 }])).toEqual([
    'spec.items[0].v: Invalid value: 7: spec.items[0].v in body should be less than or equal to 5',
    'spec.items[0].k: Required value',
  ]);
});

test('an item with an integer key beyond 2^53 does not correlate with a float key', () => {
  const numbered = new CompiledSchema(
    {
      type: 'object',
      properties: {
        other: { type: 'string' },
        items: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
          items: { type: 'object', properties: { k: { type: 'number' }, v: { type: 'number', maximum: 5 } } },
        },
      },
    },
    {},
  );
  const of = (other: string, k: JsonValue): JsonObject => ({ other, items: [{ k, v: 7 }] });
  const validate = (now: JsonValue, before: JsonValue): number =>
    numbered.validate(of('new', now), { old: of('old', before) }).length;
  expect([validate(2n ** 53n, 2n ** 53n), validate(2 ** 53, 2 ** 53)]).toEqual([0, 0]);
  expect([validate(2 ** 53, 2n ** 53n), validate(2n ** 53n, 2 ** 53)]).toEqual([1, 1]);
  const both = { items: [{ k: 2n ** 53n }, { k: 2 ** 53 }] };
  expect(numbered.validate(both, {})).toEqual([]);
});
