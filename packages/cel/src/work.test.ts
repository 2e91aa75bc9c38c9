import { kubernetesEnvironment } from './kubernetes.js';
import type { Outcome } from './program.js';
import { withYieldPoint } from './yield-point.js';

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

describe('withYieldPoint', () => {
  test.each(LONG)('%s reaches yield points, with the same outcome', (_name, source) => {
    const alone = evaluate(source);
    let count = 0;
    const metered = withYieldPoint(
      () => count++,
      () => evaluate(source),
    );
    expect(metered).toEqual(alone);
    // The compilation counts once.
    expect(count).toBeGreaterThan(1);
  });

  test.each(LONG)('%s ends with the error that a yield point throws', (_name, source) => {
    let count = 0;
    const impatient = (): void => {
      if (++count > 1) throw new Enough();
    };
    expect(() => withYieldPoint(impatient, () => evaluate(source))).toThrow(Enough);
    expect(evaluate('1 + 1 == 2')).toEqual({ kind: 'value', value: true, cost: 2 });
  });

  test('many short evaluations reach yield points too', () => {
    let count = 0;
    const { program } = kubernetesEnvironment('new').compile('1 + 1 == 2');
    withYieldPoint(
      () => count++,
      () => {
        for (let i = 0; i < 1000; i++) program?.evaluate({}, 100);
      },
    );
    expect(count).toBeGreaterThan(10);
  });

  test('there are no yield points outside of its callback', () => {
    let count = 0;
    withYieldPoint(
      () => count++,
      () => undefined,
    );
    evaluate('lists.range(50000).all(x, x >= 0)');
    expect(count).toBe(0);
  });
});
