import type { JsonObject } from '../../src/apimachinery/json/json.js';
import {
  AuthorizerValue,
  SchemaTypes,
  adapterOf,
  kubernetesEnvironment,
  types,
  type Bindings,
  type Environment,
} from '../../packages/cel/src/index.js';

/** An expression meant to keep an engine busy, over the object of `hostileObject`. */
export interface Hostile {
  readonly name: string;
  readonly source: string;
}

const times = (count: number, part: string): string => new Array<string>(count).fill(part).join('');
const listed = (count: number, part: string): string => new Array<string>(count).fill(part).join(', ');

/** Returns nested macros over `list`: `list.m(a, list.m(b, …))`. */
function tower(list: string, macro: string, depth: number, innermost: string): string {
  let source = innermost;
  for (let i = 0; i < depth; i++) source = `${list}.${macro}(x${i}, ${source})`;
  return source;
}

/** Returns `optional.of(start).optMap(x, x + x)…`, which doubles the value `count` times. */
function doubled(start: string, count: number): string {
  return `optional.of(${start})${times(count, '.optMap(x, x + x)')}.value()`;
}

const TEN = '[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]';
const fields = ['a', 'digits', 'spaces', 'mixed', 'odd', 'astral'];

/** Every function of a single text, applied to every text. */
const ON_TEXT: readonly string[] = [
  'size($) > 0',
  "$.split('').size() > 0",
  "$.split('a').size() > 0",
  "$.split('', 1000000).size() > 0",
  "$.replace('', 'x').size() > 0",
  "$.replace('a', 'bb').size() > 0",
  "$.replace('', $).size() > 0",
  "$.trim() == ''",
  '$.lowerAscii() == $.upperAscii()',
  'strings.quote($).size() > 0',
  "'%s %s'.format([$, [$, $, $]]).size() > 0",
  "'%d'.format([$]).size() > 0",
  "[$, $].join('').size() > 0",
  '$.indexOf($.substring(1) + "b") == 0',
  '$.lastIndexOf($.substring(1) + "b") == 0',
  "$.contains('aaaaaaaaaaaaaaaaaaaaaaaaaab')",
  "$.matches('(a?b?){500}$')",
  "$.matches('([ab]*a[ab]{500})+$')",
  "$.matches('[ab]*a[ab]{20}d?$')",
  "$.matches('(a+)+(a|a)*(b?){500}c')",
  "$.find('(a?b?){500}$') == ''",
  "$.findAll('a').size() > 0",
  "$.findAll('').size() > 0",
  '$.matches($)',
  'double($) > 0.0',
  'int($) > 0',
  'uint($) > 0u',
  'bool($)',
  "duration($ + 's') > duration('1s')",
  "duration('1.' + $ + 's') > duration('1s')",
  'timestamp($) > timestamp(0)',
  'isQuantity($)',
  "quantity($ + 'k').isInteger()",
  "isQuantity('1.' + $)",
  'isURL($)',
  "url('http://a/?' + $).getQuery().size() > 0",
  "url('http://a/' + $) == url('http://b/' + $)",
  'isIP($)',
  'isCIDR($)',
  'isSemver($, true)',
  "isSemver('1.2.3-' + $)",
  '!format.dns1123Subdomain().validate($).hasValue()',
  '!format.uri().validate($).hasValue()',
  'bytes($) == bytes($ + "b")',
  '$ + $ < $ + "b"',
  '$ in [$ + "a", $ + "b", $ + "c"]',
  'timestamp(0).getHours($) > 0',
];

const SHAPES: readonly Hostile[] = [
  { name: 'parentheses in each other', source: times(50_000, '(') + '1' },
  { name: 'lists in each other', source: times(240, '[') + times(240, ']') },
  { name: 'negations', source: times(99_000, '!') + 'true' },
  { name: 'signs', source: times(99_000, '-') + '1 == 1' },
  { name: 'a long sum', source: new Array(45_000).fill('1').join('+') },
  { name: 'a long conjunction', source: new Array(24_000).fill('a').join('&&') },
  { name: 'choices', source: times(200, 'true ? true : ') + 'true' },
  { name: 'selections', source: `self${times(40_000, '.a')}` },
  { name: 'a long text', source: `size('${times(99_000, 'x')}') > 0` },
  { name: 'a long list', source: `[${listed(33_000, '1')}].all(x, x == 1)` },
  { name: 'a long map', source: `{${Array.from({ length: 9_000 }, (_, i) => `'${i}': 1`).join(',')}}.all(k, k != '')` },
  {
    name: 'patterns',
    source: new Array(4_000)
      .fill(0)
      .map((_, i) => `''.matches('(a?){${i % 999}}')`)
      .join('&&'),
  },
  { name: 'a tower of all', source: tower(TEN, 'all', 9, 'true') },
  { name: 'a tower of exists_one', source: tower(TEN, 'exists_one', 9, 'false') },
  {
    name: 'a tower of filter',
    source: tower('self.many', 'filter', 4, 'false').replaceAll('filter', 'exists_one'),
  },
  { name: 'a tower of map', source: `${tower(TEN, 'map', 8, '1')}.size() > 0` },
  { name: 'filtering all away', source: 'self.many.all(x, self.many.filter(y, false).size() == 0)' },
  { name: 'sizes of a large map', source: 'self.many.all(x, self.members.size() > 0)' },
  { name: 'keys of a large map', source: 'self.many.exists(x, self.members.exists_one(k, false))' },
  { name: 'sizes of a long text', source: 'self.many.all(x, self.a.size() > 0)' },
  { name: 'equal long lists', source: 'self.many.all(x, self.many == self.many2)' },
  { name: 'lists in each other', source: 'self.many.all(x, self.many in [self.many2, self.many2])' },
  { name: 'lists in sets', source: 'self.many.all(x, (self.set + [x]).size() > 0)' },
  { name: 'doubled lists', source: `${doubled(TEN, 14)}.sort() == []` },
  { name: 'doubled lists, distinct', source: `${doubled(TEN, 12)}.distinct() == []` },
  { name: 'doubled lists, flattened', source: `[${doubled(TEN, 12)}].flatten().sum() == 0` },
  { name: 'doubled texts', source: `${doubled("'ab'", 14)} == ''` },
  { name: 'doubled lists of texts', source: `${doubled("['']", 14)}.join() == ''` },
  { name: 'ranges', source: 'lists.range(1000000).map(x, lists.range(1000000)).size() > 0' },
  { name: 'a large format', source: `'${times(9_000, '%s')}'.format([${listed(9_000, 'self.a')}]) == ''` },
  { name: 'formatting lists', source: `'%s'.format([[${listed(9_000, 'self.many')}]]) == ''` },
  { name: 'padding', source: "'%.999999999f'.format([1.0]) == ''" },
  { name: 'a large sum of texts', source: `${new Array(200).fill('self.a').join('+')} == ''` },
  { name: 'joining with a long separator', source: 'self.texts.join(self.a).size() > 0' },
  { name: 'replacing by a long text', source: "self.a.replace('a', self.a).size() > 0" },
  {
    name: 'patterns from elements',
    source: "self.many.all(x, 'aaaa'.matches('(a?b?){' + string(500 + x % 400) + '}$'))",
  },
  { name: 'zones', source: "self.many.all(x, timestamp(0).getHours('Europe/Berlin') >= 0)" },
  {
    name: 'authorizations',
    source: new Array(100).fill("authorizer.path('/a').check('get').allowed()").join('&&'),
  },
  { name: 'sets of many', source: 'sets.equivalent(self.many, self.many2)' },
  { name: 'membership of many', source: 'self.many.all(x, !(x + 1000000 in self.many))' },
  { name: 'sorting by a rule', source: 'self.many.sortBy(x, -x).size() > 0' },
  { name: 'entries by a rule', source: 'self.many.transformMap(i, x, self.many).size() > 0' },
];

export const HOSTILE: readonly Hostile[] = [
  ...SHAPES,
  ...fields.flatMap((field) =>
    ON_TEXT.map((source) => {
      const filled = source.replaceAll('$', () => `self.${field}`);
      return { name: filled, source: filled };
    }),
  ),
];

const text = { type: 'string' };
const numbers = { type: 'array', items: { type: 'integer' } };

const HOSTILE_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    ...Object.fromEntries(fields.map((field) => [field, text])),
    texts: { type: 'array', items: text },
    many: numbers,
    many2: numbers,
    set: { ...numbers, 'x-kubernetes-list-type': 'set' },
    members: { type: 'object', additionalProperties: { type: 'integer' } },
  },
};

/** Returns an object several times as large as a request can be. */
function hostileObject(): JsonObject {
  const length = 3_000_000;
  const many = Array.from({ length: 100_000 }, (_, i) => i);
  return {
    a: 'a'.repeat(length),
    digits: '1'.repeat(length - 1) + 'x',
    spaces: `a${' '.repeat(length)}a`,
    mixed: Array.from({ length }, (_, i) => ((i * 2654435761) & 65536 ? 'a' : 'b')).join(''),
    odd: '1e+'.repeat(length / 3),
    astral: '\u{1f600}'.repeat(length / 4),
    texts: new Array<string>(50_000).fill(''),
    many,
    many2: many.slice(),
    set: many,
    members: Object.fromEntries(many.map((i) => [`k${i}`, i])),
  };
}

/** Returns the environment that rules on that object are compiled in, and their bindings. */
export function hostileEnvironment(): { readonly environment: Environment; readonly bindings: Bindings } {
  const registry = new SchemaTypes('selfType');
  const self = registry.declare(HOSTILE_SCHEMA, 'part');
  if (self === undefined) throw new Error('the schema has no type');
  const environment = kubernetesEnvironment('new').extend(
    [
      { name: 'self', type: self.type },
      { name: 'authorizer', type: types.objectType('kubernetes.authorization.Authorizer') },
    ],
    (name) => registry.struct(name),
  );
  const bindings = {
    self: adapterOf(HOSTILE_SCHEMA)(hostileObject()),
    authorizer: new AuthorizerValue(() => ({ allowed: true, reason: 'ok' })),
  };
  return { environment, bindings };
}
