import fc from 'fast-check';
import { JsonError, parseJson } from './decode.js';
import { parseJsonSliced } from './decode-sliced.js';
import { type JsonValue, stringifyJson } from './json.js';

function decode(text: string, piece: number): { readonly value: JsonValue; readonly steps: number } {
  const running = parseJsonSliced(Buffer.from(text), piece);
  for (let steps = 1; ; steps++) {
    const step = running.next();
    if (step.done === true) return { value: step.value, steps };
  }
}

test('any value is decoded as in one step', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6, stringUnit: 'binary' }), fc.integer({ min: 1, max: 60 }), (text, piece) => {
      const compact = JSON.stringify(JSON.parse(text));
      // Compared as text, because the order of keys matters.
      expect(stringifyJson(decode(compact, piece).value)).toBe(stringifyJson(parseJson(compact)));
    }),
    { seed: 7, numRuns: 2000 },
  );
});

test.each([
  ['{"a":{"b":{"c":[1,[2,{"d":"e,}]\\"f"}],3],"g":{}},"h":[]},"i":9223372036854775807}'],
  ['[[],[[]],{},{"a":[{}]}]'],
  ['{"metadata":{"name":"x"},"spec":{"a:b":{"c":1,"d":2},"e,f":[1,2,3],"{":"}"},"status":null}'],
  ['"a text"'],
  ['{}'],
])('%s', (text) => {
  for (let piece = 1; piece <= text.length; piece++) {
    expect(stringifyJson(decode(text, piece).value)).toBe(text);
  }
});

test('decoding takes one step for each piece of the text', () => {
  const many = stringifyJson(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`key-${String(i)}`, { i }])));
  const { steps } = decode(many, 1000);
  expect(steps).toBeGreaterThan(many.length / 1100);
  expect(decode(many, many.length).steps).toBe(1);
});

test.each(['{"a":1', '{"a":[1,2}', '[1,2]]', 'nonsense, indeed', ''])('%s is not valid JSON', (text) => {
  for (const piece of [1, 4]) expect(() => decode(text, piece)).toThrow(JsonError);
});
