import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../src/apimachinery/json/json.js';
import { type GrammarOptions, type Kind, debris, expressions } from '../cel/grammar.js';

/** The spec that rules apply to; bounds keep most estimates within their limits. */
export const SPEC: JsonObject = {
  i: { type: 'integer' },
  j: { type: 'integer', format: 'int64' },
  d: { type: 'number' },
  s: { type: 'string', maxLength: 20 },
  t: { type: 'string', maxLength: 10 },
  long: { type: 'string' },
  b: { type: 'boolean' },
  y: { type: 'string', format: 'byte', maxLength: 20 },
  du: { type: 'string', format: 'duration', maxLength: 20 },
  ts: { type: 'string', format: 'date-time', maxLength: 40 },
  date: { type: 'string', format: 'date', maxLength: 10 },
  e: { type: 'string', enum: ['a', 'bb', 'ccc'] },
  li: { type: 'array', maxItems: 5, items: { type: 'integer' } },
  open: { type: 'array', items: { type: 'integer' } },
  ls: { type: 'array', maxItems: 5, items: { type: 'string', maxLength: 10 } },
  set: {
    type: 'array',
    maxItems: 5,
    'x-kubernetes-list-type': 'set',
    items: { type: 'string', maxLength: 10 },
  },
  keyed: {
    type: 'array',
    maxItems: 5,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k'],
    items: {
      type: 'object',
      required: ['k'],
      properties: { k: { type: 'string', maxLength: 5 }, v: { type: 'integer' }, f: { type: 'number' } },
    },
  },
  m: { type: 'object', maxProperties: 5, additionalProperties: { type: 'integer' } },
  o: {
    type: 'object',
    properties: {
      n: { type: 'integer' },
      s: { type: 'string', maxLength: 5 },
      'a-b': { type: 'integer' },
      in: { type: 'string', maxLength: 5 },
      nil: { type: 'string', nullable: true, maxLength: 5 },
    },
  },
  any: { 'x-kubernetes-preserve-unknown-fields': true },
  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  port: { 'x-kubernetes-int-or-string': true },
  emb: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
};

const VARIABLES: Readonly<Record<string, Kind>> = {
  'self.i': 'int',
  'self.j': 'int',
  'self.d': 'double',
  'self.s': 'string',
  'self.t': 'string',
  'self.e': 'string',
  'self.b': 'bool',
  'self.y': 'bytes',
  'self.du': 'duration',
  'self.ts': 'timestamp',
  'self.date': 'timestamp',
  'self.li': 'ints',
  'self.ls': 'strings',
  'self.set': 'strings',
  'self.m': 'map',
};

const MORE: NonNullable<GrammarOptions['more']> = {
  int: [
    'self.o.n',
    'self.o.a__dash__b',
    'self.keyed[{int}].v',
    'self.keyed.size()',
    'self.port',
    'self.any.x',
    'size(self.set)',
    'int(self.port)',
    '{timestamp}.getDayOfWeek()',
    "{timestamp}.getMinutes('+05:30')",
    '{duration}.getMilliseconds()',
    '{strings}.indexOf({string})',
    'self.o.?n.orValue({int})',
    'oldSelf.i',
    'self.keyed.map(e, e.v).sum()',
    'quantity({string}).asInteger()',
    'ip({string}).family()',
    "url({string}).getPort() == '' ? 0 : 1",
    'self.long.size()',
    'self.open[{int}]',
  ],
  double: ['quantity({string}).asApproximateFloat()', 'self.keyed[0].f', 'math.abs({double})', '[{double}].max()'],
  string: [
    'self.o.s',
    'self.o.__in__',
    'self.o.nil',
    'self.keyed[{int}].k',
    'self.free.x',
    'string({duration})',
    "'%d|%s|%v'.format([{int}, {bool}, {double}])",
    "'%.2f %b %X'.format([{double}, {int}, {string}])",
    'self.emb.metadata.name',
    'self.emb.kind',
    'string(type({int}))',
    'url({string}).getEscapedPath()',
    'string(cidr({string}).masked())',
    '{strings}.max()',
    'string({double})',
    'self.long',
  ],
  bool: [
    'has(self.FIELD)',
    'has(self.o.nil)',
    'has(self.o.n) && self.o.n > {int}',
    'self.o.nil == null',
    'self.any == {int}',
    'type(self.any) == string',
    'self.port == {string}',
    'self.port == {int}',
    'self.keyed.exists(e, e.k == {string} && e.v > {int})',
    'self.keyed.all(e, has(e.v))',
    'self.keyed == self.keyed',
    'self.set == {strings}',
    'self.set + {strings} == self.set',
    '{string} in self.set',
    'self == oldSelf',
    'self.i >= oldSelf.i',
    'oldSelf.keyed.all(o, self.keyed.exists(n, n.k == o.k))',
    'self.li.all(x, self.open.exists(y, x == y))',
    'self.open.all(x, self.open.all(y, x != y))',
    'self.long.matches({string})',
    'quantity({string}).isGreaterThan(quantity({string}))',
    'ip({string}).isLoopback()',
    "cidr('10.0.0.0/8').containsIP({string})",
    "cidr('10.0.0.0/8').containsCIDR({string})",
    'url({string}) == url({string})',
    'semver({string}).isLessThan(semver({string}))',
    'format.named({string}).hasValue()',
    '!format.date().validate({string}).hasValue()',
    '{timestamp} == {timestamp}',
    '{duration} == {duration}',
    'self.free.exists(k, k == {string})',
    'self.m.all(k, self.m[k] > {int})',
    '{ints}.exists_one(x, x > {int})',
    '{ints}.map(x, x).map(y, y + {int}).exists(z, z in {ints})',
    'type({double}) == type({int})',
    '[{int}, {double}] == []',
    '{string}.find({string}) == {string}',
    'dyn({string}).startsWith({string})',
    'nothing == {int}',
    'authorizer == null',
  ],
  ints: [
    'self.open',
    'self.keyed.map(e, e.v)',
    'lists.range({int})',
    '[[{int}], {ints}].flatten()',
    '{ints}.sortBy(x, -x)',
  ],
  strings: ['self.keyed.map(e, e.k)', 'self.m.map(k, k)', '{strings}.distinct()', '{strings}.sort()'],
  map: ['self.any', 'self.free'],
  timestamp: ['timestamp({string})', 'timestamp({int})'],
  duration: ['duration({string})'],
};

const FIELDS = [...Object.keys(SPEC), 'none', 'o.n', 'm.x', 'free.x', 'any.x'];

/** Rules shaped by the grammar over SPEC, some with parts of wrong types, and some that are not expressions at all. */
export const rules: fc.Arbitrary<string> = fc
  .oneof(
    {
      weight: 6,
      arbitrary: expressions({ own: true, variables: VARIABLES, more: MORE, kind: 'bool' }),
    },
    {
      weight: 4,
      arbitrary: expressions({ own: true, slips: true, variables: VARIABLES, more: MORE, kind: 'bool' }),
    },
    { weight: 1, arbitrary: expressions({ own: true, slips: true, variables: VARIABLES, more: MORE }) },
    { weight: 1, arbitrary: debris.map((source) => ({ source })) },
  )
  .chain(({ source }) => fc.constantFrom(...FIELDS).map((field) => source.replaceAll('FIELD', field)))
  // Texts that JSON cannot carry are covered by other tests.
  .filter((source) => source.length < 2000 && !/\p{Surrogate}/u.test(source));

const texts = fc.constantFrom(
  '',
  'a',
  'abc',
  '12',
  'ünï',
  'x,y',
  '1.5',
  '1Ki',
  '10.0.0.1',
  '::1',
  '1.2.3',
  'true',
  '1h',
);
const integers = fc.constantFrom(0, 1, -1, 2, 7, 63, 2 ** 31, -(2 ** 40), 2 ** 53 - 1);
const optionally = (values: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonValue | undefined> =>
  fc.option(values, { nil: undefined, freq: 6 });

/** Specs that the schema accepts. */
export const specs: fc.Arbitrary<JsonObject> = fc
  .record({
    i: optionally(integers),
    j: optionally(integers),
    d: optionally(fc.constantFrom(0, 1.5, -2.25, 3, 1e30, 1e-7)),
    s: optionally(texts),
    t: optionally(texts),
    long: optionally(fc.constantFrom('', 'a', 'abc'.repeat(400))),
    b: optionally(fc.boolean()),
    y: optionally(fc.constantFrom('', 'YQ==', '/wA=')),
    du: optionally(fc.constantFrom('1h', '-90s', '1.5ms', '0s')),
    ts: optionally(fc.constantFrom('2024-02-29T12:00:00Z', '1969-12-31T23:59:59.5Z', '2030-01-01T00:00:00+05:30')),
    date: optionally(fc.constantFrom('2024-02-29', '1970-01-01')),
    e: optionally(fc.constantFrom('a', 'bb', 'ccc')),
    li: optionally(fc.array(integers, { maxLength: 5 })),
    open: optionally(fc.array(integers, { maxLength: 12 })),
    ls: optionally(fc.array(texts, { maxLength: 5 })),
    set: optionally(fc.uniqueArray(texts, { maxLength: 5 })),
    keyed: optionally(
      fc.uniqueArray(
        fc.record(
          { k: fc.constantFrom('a', 'b', 'c', ''), v: integers, f: fc.constantFrom(0, 1.5, 2) },
          { requiredKeys: ['k'] },
        ),
        { maxLength: 4, selector: ({ k }) => k },
      ),
    ),
    m: optionally(fc.dictionary(fc.constantFrom('a', 'b', 'x', 'ü'), integers, { maxKeys: 4 })),
    o: optionally(
      fc.record(
        {
          n: integers,
          s: fc.constantFrom('', 'a', 'abc'),
          'a-b': integers,
          in: fc.constant('x'),
          nil: fc.constant(null),
        },
        { requiredKeys: [] },
      ),
    ),
    any: optionally(fc.constantFrom<JsonValue>(1, 'a', [1, 'a'], { x: 1 }, { x: 'a' }, true, 1.5)),
    free: optionally(fc.constantFrom<JsonValue>({}, { x: 1 }, { x: 'a', a: null })),
    port: optionally(fc.constantFrom<JsonValue>(80, 'http', '12', 0)),
    emb: optionally(
      fc.constantFrom<JsonValue>(
        { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } },
        { apiVersion: 'v1', kind: 'B' },
      ),
    ),
  })
  .map((spec) => JSON.parse(JSON.stringify(spec)) as JsonObject);
