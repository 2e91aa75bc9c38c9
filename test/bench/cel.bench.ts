/**
 * Compilation and evaluation beside another engine, in one run:
 *   npx jest --testMatch '**\/test/bench/cel.bench.ts'
 */
import { celEnv, parse, plan } from '@bufbuild/cel';
import { SchemaTypes, adapterOf, fromJson, kubernetesEnvironment, types } from '../../src/cel/index.js';
import { compileRules } from '../../src/schema/cel/index.js';

const SCHEMA = {
  type: 'object',
  properties: {
    replicas: { type: 'integer' },
    min: { type: 'integer' },
    items: {
      type: 'array',
      maxItems: 50,
      items: { type: 'object', properties: { name: { type: 'string', maxLength: 63 }, port: { type: 'integer' } } },
    },
  },
};
const OBJECT = {
  replicas: 5,
  min: 1,
  items: Array.from({ length: 10 }, (_, i) => ({ name: `p-${String(i)}`, port: 8000 + i })),
};
const RULE = "self.items.all(x, x.port > 1024 && x.port < 65536 && x.name.startsWith('p-'))";

/** Microseconds per call, the best of a few rounds. */
function time(run: () => unknown, calls: number): number {
  let best = Infinity;
  for (let round = 0; round < 7; round++) {
    const start = process.hrtime.bigint();
    for (let i = 0; i < calls; i++) run();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / 1000 / calls);
  }
  return best;
}

test('figures', () => {
  const registry = new SchemaTypes('self');
  const type = registry.declare(SCHEMA, false)!;
  const environment = kubernetesEnvironment('new').extend([{ name: 'self', type: type.type }], (name) =>
    registry.struct(name),
  );
  const program = environment.compile(RULE).program!;
  const self = adapterOf(SCHEMA)(OBJECT);
  const dynamic = kubernetesEnvironment('new')
    .extend([{ name: 'self', type: types.DYN }])
    .compile(RULE).program!;
  const plain = fromJson(OBJECT);
  const other = celEnv({});
  const planned = plan(other, parse(RULE));
  const fifteen = compileRules({
    type: 'object',
    properties: {
      spec: {
        ...SCHEMA,
        'x-kubernetes-validations': Array.from({ length: 15 }, (_, i) => ({
          rule:
            i % 3 === 0
              ? 'self.replicas >= self.min'
              : i % 3 === 1
                ? '!has(self.replicas) || self.replicas < 100'
                : 'self.items.size() <= 50',
        })),
      },
    },
  })!;
  const object = { apiVersion: 'v1', kind: 'K', metadata: { name: 'a' }, spec: OBJECT };
  const rows = {
    'compile, this engine': time(() => environment.compile(RULE).program!.planError, 2000),
    'compile, @bufbuild/cel': time(() => plan(other, parse(RULE)), 300),
    'evaluate typed, this engine': time(() => program.evaluate({ self }, 1e6), 20000),
    'evaluate untyped, this engine': time(() => dynamic.evaluate({ self: plain }, 1e6), 20000),
    'evaluate, @bufbuild/cel': time(() => planned({ self: OBJECT as never }), 5000),
    '15 rules on an object': time(() => fifteen.validate(object), 5000),
  };
  process.stdout.write(
    `${Object.entries(rows)
      .map(([name, micros]) => `${micros.toFixed(2).padStart(9)} µs  ${name}`)
      .join('\n')}\n`,
  );
  expect(program.evaluate({ self }).kind).toBe('value');
});
