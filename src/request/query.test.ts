import { parseQuery, tooManyParameters } from './query.js';

test('parameters are counted without being split', () => {
  expect(tooManyParameters('')).toBe(false);
  expect(tooManyParameters('a='.repeat(10_000))).toBe(false);
  expect(tooManyParameters(Array(10_000).fill('a').join('&'))).toBe(false);
  expect(tooManyParameters(Array(10_001).fill('a').join('&'))).toBe(true);
});

test('values are decoded, in order', () => {
  expect([...parseQuery('a=1&b&a=%2F+x&%zz=1&c;d=1')]).toEqual([
    ['a', ['1', '/ x']],
    ['b', ['']],
  ]);
});
