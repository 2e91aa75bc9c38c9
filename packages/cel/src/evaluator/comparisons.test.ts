import { kubernetesEnvironment } from '../kubernetes.js';
import type { Outcome } from '../program.js';
import { fromJson } from '../schema/json.js';
import { DYN } from '../types.js';

const environment = kubernetesEnvironment('new').extend([
  { name: 'self', type: DYN },
  { name: 'other', type: DYN },
]);

function evaluate(source: string, self: unknown): Outcome {
  const { program, failure } = environment.compile(source);
  if (program === undefined) throw new Error(failure.text);
  const value = fromJson(JSON.parse(JSON.stringify(self)) as never);
  return program.evaluate({ self: value, other: value }, 1_000_000);
}

/** Returns the outcome of a connective of two comparisons, from the outcome of each alone. */
function joined(first: Outcome, second: Outcome, decisive: boolean): Outcome {
  if (first.kind === 'value' && first.value === decisive) return first;
  const cost = first.cost + second.cost;
  if (second.kind === 'value' && second.value === decisive) return { ...second, cost };
  return { ...(first.kind === 'value' ? second : first), cost };
}

const COMPARISONS = ['self.a < self.b', 'self.b <= self.c', 'self.c > self.a', 'self.a >= self.b', 'other.a < other.c'];
const OBJECTS: readonly (readonly [string, unknown])[] = [
  ['ascending', { a: 1, b: 2, c: 3 }],
  ['descending', { a: 3, b: 2, c: 1 }],
  ['equal', { a: 2, b: 2, c: 2 }],
  ['one is absent', { a: 1, b: 2 }],
  ['one is a text', { a: 1, b: 'x', c: 3 }],
  ['all are texts', { a: 'a', b: 'b', c: 'c' }],
  ['fractions', { a: 0.5, b: 1, c: 1.5 }],
  ['no object', 'text'],
  ['a list', [1, 2]],
];

describe.each(OBJECTS)('two comparisons of fields of one variable: %s', (_name, self) => {
  test.each(COMPARISONS.flatMap((first) => COMPARISONS.map((second) => [first, second] as const)))(
    'combine the outcomes of each alone: %s, %s',
    (first, second) => {
      const alone = [evaluate(first, self), evaluate(second, self)] as const;
      expect(evaluate(`${first} && ${second}`, self)).toEqual(joined(...alone, false));
      expect(evaluate(`${first} || ${second}`, self)).toEqual(joined(...alone, true));
    },
  );
});
