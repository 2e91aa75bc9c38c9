import fc from 'fast-check';
import { occurrences } from './text.js';

const texts = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\u4e2d', '\u{1f600}'), maxLength: 12 });
const parts = fc.string({ unit: fc.constantFrom('a', 'b', '\u4e2d'), minLength: 1, maxLength: 3 });

describe('occurrences', () => {
  test.each([
    ['short texts', 1],
    ['long texts', 20_000],
  ])('are counted and replaced as JavaScript does: %s', (_name, times) => {
    fc.assert(
      fc.property(texts, parts, texts, (text, part, replacement) => {
        const long = text.repeat(times);
        const found = occurrences(long, part);
        expect(found.count).toBe(long.split(part).length - 1);
        expect(found.replaced(replacement) === long.split(part).join(replacement)).toBe(true);
      }),
      { numRuns: times === 1 ? 300 : 40 },
    );
  });
});
