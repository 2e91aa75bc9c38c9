// Rows for eventloop.mjs: requests that are small but expensive.
const range = (n, make) => Array.from({ length: n }, (_, i) => make(i));

/** Returns nested alternatives, twelve on each level. */
const nested = (depth) => (depth === 0 ? { pattern: '^x' } : { anyOf: range(12, () => nested(depth - 1)) });
const list = (items, more = {}) => ({ type: 'array', items, ...more });

const TYPES = {
  patterned: [
    'Patterned',
    Object.fromEntries(
      range(1200, (i) => [`p${i}`, { type: 'string', pattern: `(a?b){${900 - (i % 400)}}c{${1 + (i % 3)}}` }]),
    ),
  ],
  searched: [
    'Searched',
    {
      branches: { type: 'string', pattern: '(a?b){900}[01]' },
      states: { type: 'string', pattern: '[ab]*a[ab]{900}[yz]' },
      names: list({ type: 'string', pattern: '^(([a-z0-9]|[a-z0-9][a-z0-9-]*[a-z0-9])\\.)*x$' }),
      choices: list({ type: 'string', ...nested(3) }),
      values: list({ type: 'string', enum: range(5000, (i) => `v${i}`) }),
    },
  ],
  listed: [
    'Listed',
    {
      set: list(list({ type: 'integer' }, { 'x-kubernetes-list-type': 'atomic' }), { 'x-kubernetes-list-type': 'set' }),
      map: list(
        {
          type: 'object',
          required: ['a'],
          properties: {
            a: { type: 'integer' },
            b: { type: 'integer', default: 1 },
            c: { type: 'integer', default: 2 },
            d: { type: 'string' },
          },
        },
        { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a', 'b', 'c'] },
      ),
    },
  ],
};
/** Letters without an order or repetition that an automaton could exploit. */
const letters = (n) => range(n, (i) => (((i * i * 7919) % 104_729) & 1 ? 'a' : 'b')).join('');

const OBJECTS = [
  ['1,200 fields with a pattern each', 'patterned', Object.fromEntries(range(1200, (i) => [`p${i}`, 'x']))],
  ['60 KB of text for a long pattern', 'searched', { branches: letters(60_000) }],
  ['60 KB of text for a pattern of many states', 'searched', { states: letters(60_000) }],
  ['15,000 texts that do not match', 'searched', { names: range(15_000, () => 'a') }],
  ['15,000 texts with 1,728 alternatives', 'searched', { choices: range(15_000, () => 'a') }],
  ['9,000 texts of 5,000 that are allowed', 'searched', { values: range(9000, () => 'v4') }],
  ['a set of 8,000 lists', 'listed', { set: range(8000, (i) => [i]) }],
  ['a map list of 6,000 by three keys', 'listed', { map: range(6000, (i) => ({ a: i })) }],
];

/** `define` and `create` as in eventloop.mjs; `apply` sends an object of a type as a field manager. */
export function smallRequests({ define, create, apply }) {
  const definitions = Object.entries(TYPES).map(([plural, [kind, properties]]) => [
    `definition of ${plural} objects`,
    () => define(plural, kind, { type: 'object', properties: { spec: { type: 'object', properties } } }),
  ]);
  const objects = OBJECTS.map(([name, plural, spec], i) => [
    name,
    () => create(plural, TYPES[plural][0], spec, `o${i}`),
  ]);
  const items = (value) => ({ map: range(4000, (i) => ({ a: i, d: value })) });
  return [
    ...definitions,
    ...objects,
    ['apply of 4,000 items by three keys', () => apply('listed', 'Listed', items('x'), 'a')],
    ['the same by another, forced', () => apply('listed', 'Listed', items('y'), 'b')],
  ];
}
