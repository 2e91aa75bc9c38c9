import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { Double, type Value } from '../../packages/cel/src/index.js';
import { parseJson } from '../../src/apimachinery/json/decode.js';
import { type JsonObject, stringifyJson } from '../../src/apimachinery/json/json.js';
import { Expression } from '../../src/asking/expression.js';
import type { AskedKind } from '../../src/asking/object-type.js';
import type { CachedObject } from '../../src/storage/cacher/interfaces.js';
import { ROOT } from '../integration/server.js';

/**
 * Evaluates generated expressions on generated objects as lists with `where` do, and with the libraries of Kubernetes, and compares values and
 * errors. ANNEX_CEL_COUNT is the number of expressions.
 */
const EVALUATOR = join(process.env['ANNEX_TOOLS_DIR'] ?? join(ROOT, '.cache/tools'), 'cel-evaluator');
const COUNT = Number(process.env['ANNEX_CEL_COUNT'] ?? 1500);
const SEED = Number(process.env['FC_SEED'] ?? 1);

const string = { type: 'string' };
const integer = { type: 'integer', format: 'int64' };
const spec: JsonObject = {
  type: 'object',
  properties: {
    size: integer,
    ratio: { type: 'number' },
    color: string,
    on: { type: 'boolean' },
    until: { type: 'string', format: 'date-time' },
    lasts: { type: 'string', format: 'duration' },
    memory: string,
    port: { 'x-kubernetes-int-or-string': true },
    maybe: { type: 'string', nullable: true },
    namespace: string,
    'dashed-name': integer,
    tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: string },
    results: {
      type: 'array',
      items: { type: 'object', properties: { name: string, fail: integer } },
    },
    counts: { type: 'object', additionalProperties: integer },
  },
};
const metadata: JsonObject = {
  type: 'object',
  properties: {
    name: string,
    namespace: string,
    creationTimestamp: { type: 'string', format: 'date-time' },
    labels: { type: 'object', additionalProperties: string },
  },
};
const schema: JsonObject = { type: 'object', properties: { apiVersion: string, kind: string, metadata, spec } };

const ints = fc.oneof(fc.integer({ min: -3, max: 9 }), fc.constantFrom(9007199254740993n, -9223372036854775807n));
const texts = fc.constantFrom('', 'a', 'x', 'red', 'bläu 😀', '"\\', 'high', '12');
const objects = fc.record(
  {
    apiVersion: fc.constant('v1'),
    kind: fc.constant('Box'),
    metadata: fc.record(
      {
        name: fc.constantFrom('a', 'box-1'),
        namespace: fc.constant('n1'),
        creationTimestamp: fc.constantFrom('2026-01-02T03:04:05Z', '2030-01-01T00:00:00Z'),
        labels: fc.dictionary(fc.constantFrom('team', 'a/b', 'é'), texts, { maxKeys: 3 }),
      },
      { requiredKeys: ['name', 'namespace', 'creationTimestamp'] },
    ),
    spec: fc.record(
      {
        size: ints,
        ratio: fc.constantFrom(0.5, 2, -1.25, 1e30),
        color: texts,
        on: fc.boolean(),
        until: fc.constantFrom('2030-01-02T03:04:05Z', '2020-05-05T00:00:00.5Z'),
        lasts: fc.constantFrom('90m', '1h30m', '5s'),
        memory: fc.constantFrom('1Gi', '512Mi', '0.5', 'no quantity'),
        port: fc.oneof(fc.constantFrom(80, 443), fc.constantFrom('http', '80')),
        maybe: fc.constantFrom(null, 'some'),
        namespace: texts,
        'dashed-name': ints,
        tags: fc.uniqueArray(texts, { maxLength: 3 }),
        results: fc.array(fc.record({ name: texts, fail: ints }, { requiredKeys: [] }), { maxLength: 3 }),
        counts: fc.dictionary(fc.constantFrom('high', 'low', 'é"\\'), ints, { maxKeys: 3 }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ['apiVersion', 'kind', 'metadata'] },
);

/** Keywords that are names of fields are escaped here; Annex takes them plain as well, which the libraries of Kubernetes refuse. */
const FORMS: Readonly<Record<string, readonly string[]>> = {
  int: [
    '0',
    '1',
    '-2',
    '9007199254740993',
    'object.spec.size',
    'object.spec.dashed__dash__name',
    'object.spec.results.size()',
    'size(object.spec.tags)',
    'object.spec.counts.high',
    "object.spec.counts['é\"\\\\']",
    'object.spec.results[0].fail',
    'object.?spec.?size.orValue(-1)',
    'object.?spec.?counts[?"low"].orValue(7)',
    'object.metadata.name.size()',
    'object.metadata.creationTimestamp.getFullYear()',
    'object.spec.color.indexOf("e")',
    'string:.size()',
    'int: + int:',
    'int: - int:',
    'int: * int:',
    'int: / int:',
    'int: % int:',
    '(bool: ? int: : int:)',
    'object.spec.results.map(r, r.fail).sum()',
    'object.spec.results.filter(r, r.fail > int:).size()',
  ],
  string: [
    "'red'",
    "''",
    "'bläu 😀'",
    'object.spec.color',
    'object.metadata.name',
    'object.metadata.__namespace__',
    'object.spec.__namespace__',
    "object.metadata.labels['team']",
    'object.metadata.labels.team',
    "object.?metadata.?labels[?'a/b'].orValue('none')",
    'object.spec.?maybe.orValue("none")',
    'object.spec.maybe',
    'string: + string:',
    'string(int:)',
    'object.spec.tags[0]',
    'object.spec.results[1].name',
    'object.kind',
    'object.apiVersion',
    'string:.lowerAscii()',
    "object.spec.tags.join(',')",
    '(bool: ? string: : string:)',
  ],
  bool: [
    'true',
    'false',
    'object.spec.on',
    '!object.spec.on',
    'int: < int:',
    'int: >= int:',
    'int: == int:',
    'string: == string:',
    'string: != string:',
    'string: < string:',
    'string:.contains(string:)',
    'string:.startsWith(string:)',
    "string:.matches('^[a-z]+$')",
    'has(object.spec.size)',
    'has(object.spec.maybe)',
    'has(object.metadata.labels)',
    'has(object.metadata.labels.team)',
    "'team' in object.metadata.labels",
    'string: in object.spec.tags',
    "'high' in object.spec.counts",
    'object.spec.results.exists(r, r.fail > int:)',
    'object.spec.results.all(r, has(r.name) && r.name != string:)',
    'object.spec.results.exists_one(r, r.name == string:)',
    'object.spec.tags.exists(t, t == string:)',
    'object.spec.counts.all(k, object.spec.counts[k] > int:)',
    'object.spec.counts.exists(k, k == string:)',
    'object.spec.port == 80',
    "object.spec.port == 'http'",
    'type(object.spec.port) == int',
    "object.spec.until > timestamp('2025-01-01T00:00:00Z')",
    "object.spec.lasts == duration('90m')",
    'object.metadata.creationTimestamp < object.spec.until',
    "quantity(object.spec.memory).isGreaterThan(quantity('600Mi'))",
    'isQuantity(object.spec.memory)',
    'object.spec.ratio > 1.0',
    'object.spec.ratio == 2.0',
    'object.spec.tags == ["x", "a"]',
    'object.spec.results == object.spec.results',
    'object.spec == object.spec',
    'object.?spec.?results.orValue([]).exists(r, r.?fail.orValue(0) == int:)',
    'object.spec.?size.hasValue()',
    'object.spec.tags.isSorted()',
    'bool: && bool:',
    'bool: || bool:',
    '!(bool:)',
    '(bool: ? bool: : bool:)',
    'cel.bind(x, int:, x > 0 && x < 9)',
    // What does not compile.
    'object.spec.sise > 0',
    'object.spec.size == string:',
    'object.spec.results.exists(r, r.nome == string:)',
    'objekt.spec.size > int:',
    'object.spec.size',
  ],
};

/** Returns expressions of a type, built from its forms; at a depth of 0 only from those without parts. */
function expressions(kind: string, depth: number): fc.Arbitrary<string> {
  const forms = (FORMS[kind] ?? []).filter((form) => depth > 0 || !/(?:int|string|bool):/.test(form));
  return fc.constantFrom(...forms).chain((form) => {
    const pieces = form.split(/\b(int|string|bool):(?=[^:]|$)/);
    const parts = pieces.map((piece, i) => (i % 2 === 0 ? fc.constant(piece) : expressions(piece, depth - 1)));
    return fc.tuple(...parts).map((texts_) => texts_.join(''));
  });
}

const kind = {
  gvk: { group: 'example.com', version: 'v1', kind: 'Box' },
  openApiSchema: schema,
  type: { custom: true },
  json: { identityUpTo: Infinity },
  toObject: (object: CachedObject) => object.decode(),
} as unknown as AskedKind;

function cached(object: JsonObject): CachedObject {
  const bytes = Buffer.from(stringifyJson(object));
  return { bytes, revision: 1, flags: 0, decode: () => parseJson(bytes) as JsonObject } as unknown as CachedObject;
}

function shown(value: Value): string {
  if (typeof value === 'boolean') return `bool ${String(value)}`;
  if (typeof value === 'number' || typeof value === 'bigint') return `int ${String(value)}`;
  if (value instanceof Double) return `double ${String(value.value)}`;
  return typeof value === 'string' ? `string ${value}` : 'another type';
}

interface Sample {
  readonly expression: string;
  readonly object: JsonObject;
}

function ours({ expression, object }: Sample): string {
  let compiled: Expression;
  try {
    compiled = Expression.compile('where', expression, kind, false);
  } catch (error) {
    return `error ${(error as Error).message.replace('where: compilation failed: ', '')}`;
  }
  const { value, error } = { value: undefined, ...compiled.on(cached(object), null) };
  return error === undefined ? shown(value) : `error ${error}`;
}

function theirs(samples: readonly Sample[]): string[] {
  const lines = samples.map((sample, i) => stringifyJson({ ...sample, ...(i === 0 && { schema }) }));
  const { stdout, stderr, status } = spawnSync(EVALUATOR, {
    input: lines.join('\n'),
    encoding: 'utf8',
    maxBuffer: 1 << 30,
  });
  if (status !== 0) throw new Error(stderr);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => {
      const { type = '', value = '', error } = JSON.parse(line) as Record<string, string | undefined>;
      return error === undefined ? `${type} ${value}` : `error ${error}`;
    });
}

/** Reports whether the evaluator takes objects: one that was built before it could does not. */
function takesObjects(): boolean {
  if (!existsSync(EVALUATOR)) return false;
  return theirs([{ expression: 'object.spec.size == 1', object: { spec: { size: 1 } } }])[0] === 'bool true';
}

(takesObjects() ? test : test.skip)(
  'expressions over objects say what they say with the libraries of Kubernetes',
  () => {
    const samples = fc.sample(fc.record({ expression: expressions('bool', 3), object: objects }), {
      numRuns: COUNT,
      seed: SEED,
    }) as unknown as Sample[];
    const expected = theirs(samples);
    const different = samples.flatMap((sample, i) => {
      const mine = ours(sample);
      return mine === expected[i]
        ? []
        : [{ ...sample, object: stringifyJson(sample.object), mine, theirs: expected[i] }];
    });
    expect(expected.filter((line) => line.startsWith('bool')).length).toBeGreaterThan(COUNT / 4);
    expect(different).toEqual([]);
  },
);
