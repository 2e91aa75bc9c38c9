import { FieldPath } from '../../apimachinery/meta/field-error.js';
import type { JsonObject, JsonValue } from '../../apimachinery/json/json.js';
import { validateDefaults } from './default-validation.js';

const faults = (schema: JsonObject): string[] =>
  validateDefaults(schema, FieldPath.of('s'), { requirePruned: true }).map(String);

test('an error shows a default with its metadata as it is read', () => {
  const value = { apiVersion: 'v1', kind: 'X', metadata: null, a: 1 };
  expect(faults({ type: 'object', default: value, 'x-kubernetes-validations': [] })).toEqual([
    's.default: Invalid value: {"a":1,"apiVersion":"v1","kind":"X","metadata":{}}: must not have unknown fields',
  ]);
  expect(value.metadata).toBeNull();
});

test('rules see a default as it is read, and run only if it has no errors but unknown fields', () => {
  const seen: JsonValue[] = [];
  const check = (value: JsonObject): string[] =>
    validateDefaults({ type: 'object', default: value, properties: { b: { type: 'string' } } }, FieldPath.of('s'), {
      requirePruned: true,
      validateRules: (_, given) => (seen.push(given), []),
    }).map(String);
  const good = { apiVersion: 'v1', kind: 'X' };
  expect(check({ ...good, metadata: { unknown: 1 }, a: 1 })).toHaveLength(1);
  expect(check({ ...good, b: 1 })).toEqual([
    's.default.b: Invalid value: "integer": b in body must be of type string: "integer"',
  ]);
  expect(seen).toEqual([{ ...good, metadata: {}, a: 1 }]);
});
