import { PER_CALL_LIMIT } from '../../src/schema/cel/index.js';
import { HOSTILE, hostileEnvironment } from './hostile.js';

const { environment, bindings } = hostileEnvironment();

/** Compiles and evaluates as a rule is: how that ended, and what it was charged. */
function attempt(source: string): string {
  const { program, failure } = environment.compile(source);
  if (program === undefined) return `refused: ${failure.text.split('\n')[0]?.slice(0, 100) ?? ''}`;
  const { kind, cost } = program.evaluate(bindings, PER_CALL_LIMIT);
  return `${kind}, ${String(cost)}`;
}

/**
 * How long they take is for the bench (test/bench/cel-hostile.bench.ts). Here each comes to an end, and work that costs is charged: an
 * expression that loses its charge goes on where it was stopped.
 */
test('all that an expression can do is charged, and ends', () => {
  const ends = HOSTILE.map(({ name, source }) => `${name}: ${attempt(source)}`);
  expect(ends.join('\n')).toMatchSnapshot();
});
