import { Float, type JsonObject, type JsonValue } from '../apimachinery/json/json.js';
import { CompiledSchema } from './compile.js';

const float = (value: number): number => new Float(value) as unknown as number;
const errors = (schema: JsonObject, value: JsonValue): string[] =>
  new CompiledSchema({ type: 'object', properties: { a: schema } }, {}).validate({ a: value }, {}).map(String);

test('a minimum is printed with all its digits', () => {
  const least = 2n ** 53n + 1n;
  expect([
    ...errors({ type: 'string', minLength: least }, 'x'),
    ...errors({ type: 'array', minItems: least, items: { type: 'string' } }, []),
    ...errors({ type: 'object', minProperties: least, additionalProperties: { type: 'string' } }, {}),
    ...errors({ type: 'string', minLength: 3 }, 'x'),
  ]).toEqual([
    'a: Invalid value: "x": a in body should be at least 9007199254740993 chars long',
    'a: Invalid value: 0: a in body should have at least 9007199254740993 items',
    'a: Invalid value: 0: a in body should have at least 9007199254740993 properties',
    'a: Invalid value: "x": a in body should be at least 3 chars long',
  ]);
});

test('a factor too large for an integer is shown as the integer that Go converts it to', () => {
  expect(errors({ type: 'number', multipleOf: 1e19 }, 5)).toContain(
    'a: Invalid value: -9223372036854775808: factor MultipleOf declared for a must be positive: -9223372036854775808',
  );
});

test.each<[JsonValue, JsonValue, boolean]>([
  [2, float(2), true],
  [float(2), float(2), true],
  [float(2), 2, true],
  [1.5, float(2), false],
  [2.5, 2, true],
  [2n ** 53n, 2 ** 53, true],
])('case %#', (value, allowed, passes) => {
  expect(errors({ type: 'number', enum: [allowed] }, value)).toHaveLength(passes ? 0 : 1);
});
