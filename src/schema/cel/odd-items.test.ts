import { Float, type JsonValue } from '../../apimachinery/json/json.js';
import { compileRules } from './validator.js';

const FUNCTIONS = ['isSorted', 'sum', 'max', 'min'];
const rule = (name: string): string => (name === 'isSorted' ? 'self.isSorted()' : `self.${name}() > -9`);
const validator = compileRules({
  type: 'object',
  properties: Object.fromEntries(
    FUNCTIONS.map((name) => [
      name,
      { type: 'array', maxItems: 9, items: { type: 'integer' }, 'x-kubernetes-validations': [{ rule: rule(name) }] },
    ]),
  ),
});
const float = new Float(1) as unknown as number;
const errors = (name: string, list: JsonValue[]): string[] =>
  (validator?.validate({ [name]: list }, {}).errors ?? []).map(String);

describe('floats in lists of integers', () => {
  test.each(FUNCTIONS)('%s: the first item determines whether the function exists', (name) => {
    expect(errors(name, [float, 5])).toEqual([
      `${name}: Invalid value: "array": 'no such overload: ${name}(list)': call arguments did not match a supported operator, function or macro signature for rule: ${rule(name)}`,
    ]);
  });

  test.each(FUNCTIONS)('%s: a later float fails when it is evaluated', (name) => {
    expect(errors(name, [5, 6, float])).toEqual([
      `${name}: Invalid value: "array": invalid data, expected int, got float64 evaluating rule: ${rule(name)}`,
    ]);
  });

  test('a result known before the float is returned', () => {
    expect(errors('isSorted', [6, 5, float])).toEqual(['isSorted: Invalid value: failed rule: self.isSorted()']);
    expect(errors('isSorted', [5, 5, 6])).toEqual([]);
    expect(errors('sum', [5, 5, 6])).toEqual([]);
  });
});
