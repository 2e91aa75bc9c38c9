import type { JsonValue } from '../../apimachinery/json/json.js';
import { tableConvertorFor } from './table.js';

const cell = (type: string, value: JsonValue): JsonValue | undefined =>
  tableConvertorFor([{ name: 'A', type, jsonPath: '.a' }]).cells({ metadata: { name: 'x' }, a: value }, 0)[1];

test.each<[JsonValue, JsonValue]>([
  [1.9, 1],
  [-1.9, -1],
  [9007199254740993n, 9007199254740993n],
  [2 ** 62, 2n ** 62n],
  [2 ** 63, -(2n ** 63n)],
  [1e300, -(2n ** 63n)],
  [-1e300, -(2n ** 63n)],
  ['1', null],
])('shows %p in an integer column', (value, shown) => {
  expect(cell('integer', value)).toBe(shown);
});

test.each<[JsonValue, JsonValue]>([
  [9007199254740993n, 9007199254740992],
  [1e300, 1e300],
  ['1', null],
])('shows %p in a number column', (value, shown) => {
  expect(cell('number', value)).toBe(shown);
});
