import { FieldPath } from '../apimachinery/meta/field-error.js';
import type { JsonObject } from '../apimachinery/json/json.js';
import { CompiledSchema } from './compile.js';
import { buildNodesInSteps, partsOf } from './sliced.js';
import { isStructuralInSteps, structuralError, validateStructural } from './structural.js';

function finish<T>(steps: Generator<undefined, T>): { value: T; count: number } {
  for (let count = 0; ; count++) {
    const step = steps.next();
    if (step.done === true) return { value: step.value, count };
  }
}

const text = { type: 'string', maxLength: 3, default: 'x' };
const wide: JsonObject = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`p${String(i)}`, { ...text }])),
    },
    list: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string', not: { pattern: '^a' } } },
  },
};

describe('a schema in steps', () => {
  test('returns all parts in steps, outer ones first', () => {
    const { value, count } = finish(partsOf(wide));
    expect(value).toHaveLength(1005);
    expect(value[0]).toBe(wide);
    // One step is for the thousand properties of one part.
    expect(count).toBe(21);
  });

  test('behaves like a schema that is compiled at once', () => {
    const object = (): JsonObject => ({ spec: { p1: 'long', p2: 'y', other: 1 }, list: ['a', 'b', 'b'] });
    const outcome = (made?: ConstructorParameters<typeof CompiledSchema>[2]): unknown => {
      const schema = new CompiledSchema(wide, {}, made);
      const given = object();
      const pruned = schema.prune(given, 'collect');
      schema.applyDefaults(given);
      return { pruned, given, errors: schema.validate(given, {}).map(String) };
    };
    const { value, count } = finish(buildNodesInSteps(wide));
    expect(count).toBeGreaterThan(10);
    expect(outcome(value)).toEqual(outcome());
    expect(outcome(value)).toMatchObject({ pruned: ['spec.other'] });
  });

  const faults: readonly [string, JsonObject][] = [
    ['nothing', {}],
    ['a type is missing', { properties: { a: {} } }],
    ['a type is missing below items', { properties: { a: { type: 'array', items: {} } } }],
    ['an array without items', { properties: { a: { type: 'array' } } }],
    ['additional properties at the root', { additionalProperties: { type: 'string' } }],
    ['a reference', { properties: { a: { type: 'string', $ref: 'x' } } }],
    ['a reference inside a condition', { properties: { a: { type: 'string', anyOf: [{ $ref: 'x' }] } } }],
    ['a type inside a condition', { properties: { a: { type: 'string', not: { type: 'string' } } } }],
    ['a condition on what is not specified', { anyOf: [{ properties: { b: { minimum: 1 } } }] }],
    [
      'unknown fields that are not preserved',
      { properties: { a: { type: 'object', 'x-kubernetes-preserve-unknown-fields': false } } },
    ],
  ];
  test.each(faults)('reports whether a schema is structural: %s', (_, given) => {
    const schema: JsonObject = { type: 'object', ...given };
    const path = FieldPath.of('spec');
    const fine = structuralError(schema) === undefined && validateStructural(schema, path).length === 0;
    expect(finish(isStructuralInSteps(schema)).value).toBe(fine);
    expect(fine).toBe(_ === 'nothing');
  });
});
