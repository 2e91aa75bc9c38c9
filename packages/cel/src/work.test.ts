import { kubernetesEnvironment } from './kubernetes.js';
import type { Outcome } from './program.js';
import { withPauses } from './pauses.js';

class Enough extends Error {}

function evaluate(source: string, limit = 1_000_000): Outcome {
  const { program, failure } = kubernetesEnvironment('new').compile(source);
  if (program === undefined) throw new Error(failure.text);
  return program.evaluate({}, limit);
}

const LONG: readonly (readonly [string, string])[] = [
  ['a loop', 'lists.range(50000).all(x, x >= 0)'],
  ['a loop that gathers', 'lists.range(20000).map(x, x + 1).size() == 20000'],
  ['a loop over entries', 'lists.range(20000).transformMap(i, x, x).size() == 20000'],
  ['calls that cost much', `${new Array(50).fill("'a'.matches('[a-z]{900}')").join(' || ')} || true`],
  ['work that costs little', 'lists.range(300000).filter(x, false).size() == 0'],
  ['more than the limit', 'lists.range(900000).all(x, x >= 0)'],
];

describe('withPauses', () => {
  test.each(LONG)('%s pauses, and comes to the same', (_name, source) => {
    const alone = evaluate(source);
    let pauses = 0;
    const paused = withPauses(
      () => pauses++,
      () => evaluate(source),
    );
    expect(paused).toEqual(alone);
    // Once for the compilation.
    expect(pauses).toBeGreaterThan(1);
  });

  test.each(LONG)('%s ends with what a pause throws', (_name, source) => {
    let pauses = 0;
    const impatient = (): void => {
      if (++pauses > 1) throw new Enough();
    };
    expect(() => withPauses(impatient, () => evaluate(source))).toThrow(Enough);
    expect(evaluate('1 + 1 == 2')).toEqual({ kind: 'value', value: true, cost: 2 });
  });

  test('many short evaluations pause, too', () => {
    let pauses = 0;
    const { program } = kubernetesEnvironment('new').compile('1 + 1 == 2');
    withPauses(
      () => pauses++,
      () => {
        for (let i = 0; i < 1000; i++) program?.evaluate({}, 100);
      },
    );
    expect(pauses).toBeGreaterThan(10);
  });

  test('outside of it there are no pauses', () => {
    let pauses = 0;
    withPauses(
      () => pauses++,
      () => undefined,
    );
    evaluate('lists.range(50000).all(x, x >= 0)');
    expect(pauses).toBe(0);
  });
});
