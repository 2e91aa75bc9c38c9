/**
 * Compares compilation (parse, check, plan) and evaluation with npm's CEL engines in one run, engines alternating within each round.
 * Annex counts costs, with the limit of one call; the others do not. Needs the built program:
 *   node test/bench/cel.mjs [--rounds 60]
 * Prints the best round of each, in microseconds per call, as Markdown.
 */
import { parseArgs } from 'node:util';
import { celEnv, parse as bufbuildParse, plan } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { Environment as BachmannEnvironment } from '@marcbachmann/cel-js';
import { evaluate as celJsEvaluate, parse as celJsParse } from 'cel-js';
import { SchemaTypes, adapterOf, fromJson, kubernetesEnvironment, types } from '../../dist/cel/index.js';
import { compileRules } from '../../dist/schema/cel/validator.js';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '60' } } });
const rounds = Number(values.rounds);
/** The duration of one measurement in a round, in milliseconds: so short that some are undisturbed on a busy machine. */
const MILLIS = 8;

const port = { type: 'object', properties: { name: { type: 'string', maxLength: 63 }, port: { type: 'integer' } } };
const schema = {
  type: 'object',
  properties: {
    replicas: { type: 'integer' },
    min: { type: 'integer' },
    max: { type: 'integer' },
    name: { type: 'string', maxLength: 63 },
    mode: { type: 'string', maxLength: 20 },
    items: { type: 'array', maxItems: 50, items: port },
    labels: { type: 'object', maxProperties: 20, additionalProperties: { type: 'string', maxLength: 63 } },
  },
};
/** The object as decoded from a request. */
const object = JSON.parse(
  JSON.stringify({
    replicas: 5,
    min: 1,
    max: 10,
    name: 'web-frontend',
    mode: 'Rolling',
    items: Array.from({ length: 10 }, (_, i) => ({ name: `p-${i}`, port: 8000 + i })),
    labels: { app: 'web', tier: 'frontend', release: 'stable' },
  }),
);

const cases = {
  'comparison of two fields': 'self.min <= self.replicas && self.replicas <= self.max',
  'three terms on 10 items': "self.items.all(x, x.port > 1024 && x.port < 65536 && x.name.startsWith('p-'))",
  'membership and presence':
    "self.mode in ['Rolling', 'Recreate', 'OnDelete'] && has(self.labels) && 'app' in self.labels",
  text: "self.name.startsWith('web') && self.name.size() <= 63 && !self.name.contains('--')",
  'filter and count': 'self.items.filter(x, x.port >= 8005).size() == 5',
  'exists in a list': "self.items.exists(x, x.name == 'p-7' && x.port == 8007)",
};

const registry = new SchemaTypes('self');
const declared = registry.declare(schema, false);
const typed = kubernetesEnvironment('new').extend([{ name: 'self', type: declared.type }], (name) =>
  registry.struct(name),
);
const untyped = kubernetesEnvironment('new').extend([{ name: 'self', type: types.DYN }]);
const adapt = adapterOf(schema);
// Each engine gets the object in its own form, prepared in advance.
const adapted = adapt(object);
const plain = fromJson(object);
const LIMIT = 1_000_000;

/** Converts ints to bigints, as the other engines require. */
const bigints = (value) =>
  typeof value === 'number'
    ? BigInt(value)
    : Array.isArray(value)
      ? value.map(bigints)
      : typeof value === 'object'
        ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, bigints(item)]))
        : value;
const exact = bigints(object);
const bufbuild = celEnv({ funcs: strings });
const bachmann = new BachmannEnvironment().registerVariable({
  name: 'self',
  schema: {
    replicas: 'int',
    min: 'int',
    max: 'int',
    name: 'string',
    mode: 'string',
    items: 'list<map>',
    labels: 'map<string, string>',
  },
});
const bachmannUntyped = new BachmannEnvironment({ unlistedVariablesAreDyn: true });

function compiled(environment, source) {
  const { program, failure } = environment.compile(source);
  if (program === undefined) throw new Error(failure.text);
  if (program.planError !== undefined) throw new Error(program.planError);
  return program;
}

/** How each engine compiles an expression, and how it runs the result. */
const ENGINES = {
  'Annex, typed by a schema': {
    compile: (source) => compiled(typed, source),
    run: (program) => program.evaluate({ self: adapted }, LIMIT).value,
  },
  'Annex, untyped': {
    compile: (source) => compiled(untyped, source),
    run: (program) => program.evaluate({ self: plain }, LIMIT).value,
  },
  '@bufbuild/cel': {
    compile: (source) => plan(bufbuild, bufbuildParse(source)),
    run: (program) => program({ self: exact }),
  },
  '@marcbachmann/cel-js, typed': {
    compile: (source) => bachmann.parse(source),
    run: (program) => program({ self: exact }),
  },
  '@marcbachmann/cel-js': {
    compile: (source) => bachmannUntyped.parse(source),
    run: (program) => program({ self: exact }),
  },
  'cel-js': {
    compile: (source) => {
      const parsed = celJsParse(source);
      if (!parsed.isSuccess) throw new Error(parsed.errors.join());
      return parsed.cst;
    },
    // cel-js has only one kind of number.
    run: (program) => celJsEvaluate(program, { self: object }),
  },
};

/** Returns the microseconds per call, measured over one stretch of time. */
function stretch(run) {
  const start = performance.now();
  let calls = 0;
  let batch = 1;
  let now = start;
  while (now - start < MILLIS) {
    for (let i = 0; i < batch; i++) run();
    calls += batch;
    now = performance.now();
    if (now - start < MILLIS / 8) batch *= 2;
  }
  return ((now - start) * 1000) / calls;
}

function best(jobs) {
  const figures = new Map();
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of jobs) figures.set(name, Math.min(figures.get(name) ?? Infinity, stretch(run)));
  }
  return figures;
}

const figure = (micros) => (micros < 10 ? micros.toFixed(2) : micros.toFixed(1));

function table(title, measure) {
  const names = Object.keys(ENGINES);
  const lines = [
    `| ${title}, µs | ${names.join(' | ')} | ahead by |`,
    `|---|${names.map(() => '---:').join('|')}|---:|`,
  ];
  for (const [name, source] of Object.entries(cases)) {
    const jobs = Object.entries(ENGINES).flatMap(([engine, hooks]) => {
      const job = measure(hooks, source);
      return job === undefined ? [] : [[engine, job]];
    });
    const figures = best(jobs);
    const ours = figures.get(names[0]);
    const others = names.slice(2).flatMap((engine) => figures.get(engine) ?? []);
    const cells = names.map((engine) => (figures.has(engine) ? figure(figures.get(engine)) : 'fails'));
    lines.push(`| ${name} | ${cells.join(' | ')} | ${(Math.min(...others) / ours).toFixed(1)} |`);
  }
  return lines.join('\n');
}

const attempt = (run) => {
  try {
    return run();
  } catch {
    return undefined;
  }
};

console.log(
  table('evaluate', ({ compile, run }, source) => {
    const program = attempt(() => compile(source));
    return program !== undefined && attempt(() => run(program)) === true ? () => run(program) : undefined;
  }),
);
console.log();
console.log(
  table('compile', ({ compile }, source) =>
    attempt(() => compile(source)) === undefined ? undefined : () => compile(source),
  ),
);

const rules = [
  'self.replicas >= self.min',
  'self.replicas <= self.max',
  'self.min <= self.max',
  '!has(self.replicas) || self.replicas < 100',
  "self.mode in ['Rolling', 'Recreate', 'OnDelete']",
  "self.mode != 'OnDelete' || self.replicas == 1",
  'self.items.size() <= 50',
  'self.items.all(x, x.port > 1024)',
  "self.items.all(x, x.name.startsWith('p-'))",
  'self.items.exists(x, x.port == 8003)',
  "self.name.startsWith('web')",
  'self.name.size() <= 63',
  "has(self.labels) && 'app' in self.labels",
  "self.labels.all(k, k != 'forbidden')",
  "self.min == 0 || self.labels['app'] == 'web'",
];
const validator = compileRules(
  {
    type: 'object',
    properties: {
      spec: { ...schema, 'x-kubernetes-validations': rules.map((rule) => ({ rule })) },
      status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
  },
  false,
);
const whole = {
  apiVersion: 'example.com/v1',
  kind: 'Bench',
  metadata: { name: 'a', namespace: 'default', uid: '6b2a9d3e-0000-4000-8000-000000000000' },
  spec: object,
  status: { conditions: [] },
};
while (JSON.stringify(whole).length < 2048)
  whole.status.conditions.push({ type: 'Ready', status: 'True', message: 'fine' });
const { errors } = validator.validate(whole);
if (errors.length > 0) throw new Error(errors.map(String).join('\n'));
const validated = best([['rules', () => validator.validate(whole)]]).get('rules');
console.log(`\n${rules.length} rules on an object of ${JSON.stringify(whole).length} bytes: ${figure(validated)} µs`);
