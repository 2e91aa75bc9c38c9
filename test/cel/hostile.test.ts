import { AuthorizerValue, SchemaTypes, adapterOf, kubernetesEnvironment, types } from '../../src/cel/index.js';
import { PER_CALL_LIMIT } from '../../src/schema/cel/index.js';
import { HOSTILE, HOSTILE_SCHEMA, hostileObject } from './hostile.js';

const registry = new SchemaTypes('selfType');
const type = registry.declare(HOSTILE_SCHEMA, false)!;
const environment = kubernetesEnvironment('new').extend(
  [
    { name: 'self', type: type.type },
    { name: 'authorizer', type: types.objectType('kubernetes.authorization.Authorizer') },
  ],
  (name) => registry.struct(name),
);
const bindings = {
  self: adapterOf(HOSTILE_SCHEMA)(hostileObject()),
  authorizer: new AuthorizerValue(() => ({ allowed: true, reason: 'ok' })),
};

/** Compiles and evaluates as a rule is; an expression that does not compile, or is not carried through, is fine. */
function attempt(source: string): void {
  const { program } = environment.compile(source);
  program?.evaluate(bindings, PER_CALL_LIMIT);
}

/** Each takes under 50 ms on an idle core; loaded machines, and code that is not yet optimized, take some times that. */
const BOUND = 300;

/**
 * The processor time of a run in milliseconds, the best of a few: the first also compiles the engine itself, and any may share its
 * core with others. What takes long does so each time.
 */
function processorTime(run: () => void): number {
  let best = Infinity;
  for (let i = 0; i < 3 || (i < 12 && best > BOUND); i++) {
    const before = process.cpuUsage();
    run();
    best = Math.min(best, process.cpuUsage(before).user / 1000);
    if (best < 5) break;
  }
  return best;
}

test('nothing that an expression can do takes long', () => {
  const slow: string[] = [];
  const figures: (readonly [number, string])[] = [];
  for (const { name, source } of HOSTILE) {
    const millis = processorTime(() => {
      attempt(source);
    });
    figures.push([millis, name]);
    if (millis > BOUND) slow.push(`${name}: ${millis.toFixed(0)} ms`);
  }
  if (process.env['CEL_FIGURES'] !== undefined) {
    figures.sort((a, b) => b[0] - a[0]);
    process.stdout.write(
      `${figures
        .slice(0, 25)
        .map(([millis, name]) => `${millis.toFixed(1).padStart(8)} ms  ${name}`)
        .join('\n')}\n`,
    );
  }
  expect(slow).toEqual([]);
});
