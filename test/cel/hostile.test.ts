import { PER_CALL_LIMIT } from '../../src/expressions/limits.js';
import { HOSTILE, hostileEnvironment } from './hostile.js';

const { environment, bindings } = hostileEnvironment();

/** Compiles and evaluates a rule. Returns the outcome and the charged cost. */
function attempt(source: string): string {
  const { program, failure } = environment.compile(source);
  if (program === undefined) return `refused: ${failure.text.split('\n')[0]?.slice(0, 100) ?? ''}`;
  const { kind, cost } = program.evaluate(bindings, PER_CALL_LIMIT);
  return `${kind}, ${String(cost)}`;
}

/**
 * Durations are measured by the bench (test/bench/cel-hostile.bench.ts). Here each expression ends, and its work is charged: an expression
 * that loses its charge would continue past its limit.
 */
test('all that an expression can do is charged, and ends', () => {
  const ends = HOSTILE.map(({ name, source }) => `${name}: ${attempt(source)}`);
  expect(ends.join('\n')).toMatchSnapshot();
});
