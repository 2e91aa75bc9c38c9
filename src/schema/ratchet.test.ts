import type { JsonObject } from '../apimachinery/json.js';
import { compileSchema } from './compile.js';

const schema = compileSchema(
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

test('items that are found again by their keys are let pass', () => {
  expect(errors([{ k: 'a', v: 7 }])).toEqual([]);
});

test('what has not all its keys has no counterpart, not even itself', () => {
  expect(errors([{ v: 7 }])).toEqual([
    'spec.items[0].v: Invalid value: 7: spec.items[0].v in body should be less than or equal to 5',
    'spec.items[0].k: Required value',
  ]);
});
