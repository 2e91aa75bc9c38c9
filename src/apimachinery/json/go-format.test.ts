import { formatFloat, goFormat, goTypeName } from './go-format.js';

/** The expectations are the output of Go. */
test.each([
  [1e20, '1e+20'],
  [1234567.5, '1.2345675e+06'],
  [123456.5, '123456.5'],
  [12345678901.25, '1.234567890125e+10'],
  [1.5e-5, '1.5e-05'],
  [0.0001, '0.0001'],
  [-1e21, '-1e+21'],
  [12345678, '12345678'],
  [9223372036854775807n, '9223372036854775807'],
])('the number %p', (value, text) => {
  expect(goFormat(value)).toBe(text);
});

test('numbers that are not an int64 are floats', () => {
  expect([2 ** 53 - 1, 2n ** 60n, 1e20, 0.5].map(goTypeName)).toEqual(['int64', 'int64', 'float64', 'float64']);
});

test('formats maps and lists', () => {
  expect(goFormat({ b: [1, 'x', null], a: true, c: { d: 1e20 } })).toBe('map[a:true b:[1 x <nil>] c:map[d:1e+20]]');
});

test.each([
  [0, '0'],
  [-0, '-0'],
  [-1.5, '-1.5'],
  [100000, '100000'],
  [1e6, '1e+06'],
  [1234567.5, '1.2345675e+06'],
  [0.0001, '0.0001'],
  [0.00001, '1e-05'],
  [1e21, '1e+21'],
  [1e-100, '1e-100'],
])('%d is printed as Go prints it', (value, wanted) => {
  expect(formatFloat(value)).toBe(wanted);
});
