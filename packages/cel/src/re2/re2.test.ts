import { withYieldPoint } from '../yield-point.js';
import { compiledInstructions, Pattern, patternFor } from './re2.js';

/** Returns a pattern of about 2,700 instructions that finds short texts immediately. */
const large = (i: number): Pattern => new Pattern(`^${String(i)}$|^[ab]{900}[cd]{900}[ef]{900}`);
const LARGE = 3000;

test('a pattern matches anywhere in a text', () => {
  const pattern = patternFor('b+c');
  expect([pattern.matches('abbcd'), pattern.matches('abd'), pattern.error()]).toEqual([true, false, undefined]);
  expect(patternFor('b+c')).toBe(pattern);
});

test('an invalid pattern matches nothing, and returns its error', () => {
  const pattern = patternFor('a(?!b)');
  expect([pattern.matches('a'), pattern.compiled(), pattern.error()]).toEqual([
    false,
    undefined,
    'error parsing regexp: invalid or unsupported Perl syntax: `(?!`',
  ]);
});

describe('large programs', () => {
  test('are evicted for others, and compiled again', () => {
    const patterns = Array.from({ length: 100 }, (_, i) => large(i));
    for (const pattern of patterns) expect(pattern.error()).toBeUndefined();
    expect(compiledInstructions()).toBeLessThanOrEqual(150_000);
    expect(compiledInstructions()).toBeGreaterThan(150_000 - 2 * LARGE);
    for (const [i, pattern] of patterns.entries()) expect(pattern.matches(String(i))).toBe(true);
    expect(compiledInstructions()).toBeLessThanOrEqual(150_000);
  });

  test('that are used outlive unused ones', () => {
    const used = large(0);
    const program = used.compiled();
    for (let i = 1; i < 100; i++) {
      large(i).error();
      expect(used.compiled()).toBe(program);
    }
  });

  test('report the cost of compiling them, and of running them over long texts', () => {
    const reported: number[] = [];
    const pattern = large(0);
    const found = withYieldPoint(
      (units) => reported.push(units),
      () => [pattern.matches('x'), pattern.matches('x'.repeat(60_000))],
    );
    expect(found).toEqual([false, false]);
    const size = pattern.compiled()?.programSize() ?? 0;
    expect(reported).toEqual([50 * size, 60_000 * size]);
  });
});
