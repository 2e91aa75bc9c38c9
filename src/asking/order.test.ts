import fc from 'fast-check';
import { Double, Duration, kubernetesEnvironment, Timestamp, Uint, type Value } from '@annex/cel';
import { sortKey } from './sort-key.js';
import { splitKeys } from './split-keys.js';

const quantity = (text: string): Value => {
  const { program } = kubernetesEnvironment('stored').compile(`quantity('${text}')`);
  const outcome = program?.evaluate({});
  if (outcome?.kind !== 'value') throw new Error(text);
  return outcome.value;
};

/** Compares code points. */
function compareText(a: string, b: string): number {
  const [x, y] = [Array.from(a, (c) => c.codePointAt(0) ?? 0), Array.from(b, (c) => c.codePointAt(0) ?? 0)];
  for (let i = 0; i < Math.min(x.length, y.length); i++) if (x[i] !== y[i]) return (x[i] ?? 0) - (y[i] ?? 0);
  return x.length - y.length;
}

type Case = readonly [string, fc.Arbitrary<readonly [Value, Value]>, (a: never, b: never) => number];

const pairs = <T>(of: fc.Arbitrary<T>, make: (value: T) => Value): fc.Arbitrary<readonly [Value, Value]> =>
  fc.tuple(of, of).map(([a, b]) => [make(a), make(b)]);

const int64 = fc.oneof(
  fc.integer().map(BigInt),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(0n, -1n, 1n, 255n, 256n, -256n),
);
const sign = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);
const texts = fc.string({
  unit: fc.oneof(fc.constantFrom('\0', '\u00ff', 'a', 'b', '\uffee', '😀', 'é'), fc.string()),
});
const quantities = fc
  .tuple(fc.constantFrom('', '-'), fc.nat(), fc.constantFrom('', 'm', 'n', 'k', 'Ki', 'Ei', 'e30', 'e-9'))
  .map((parts) => parts.join(''));

const cases: readonly Case[] = [
  ['bool', pairs(fc.boolean(), (v) => v), (a: boolean, b: boolean) => Number(a) - Number(b)],
  ['int', pairs(int64, (v) => v), sign],
  [
    'uint',
    pairs(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (v) => new Uint(v)),
    (a: Uint, b: Uint) => sign(a.value, b.value),
  ],
  [
    'double',
    pairs(fc.double({ noNaN: true }), (v) => new Double(v)),
    (a: Double, b: Double) => (a.value < b.value ? -1 : a.value > b.value ? 1 : 0),
  ],
  ['string', pairs(texts, (v) => v), compareText],
  [
    'timestamp',
    pairs(fc.tuple(fc.integer(), fc.nat({ max: 999_999_999 })), ([seconds, nanos]) => new Timestamp(seconds, nanos)),
    (a: Timestamp, b: Timestamp) => a.seconds - b.seconds || a.nanos - b.nanos,
  ],
  ['duration', pairs(int64, (v) => new Duration(v)), (a: Duration, b: Duration) => sign(a.nanos, b.nanos)],
  ['quantity', pairs(quantities, quantity), (a: { nanos: bigint }, b: { nanos: bigint }) => sign(a.nanos, b.nanos)],
];

test.each(cases)('keys of %s are in the order of the values, in either direction', (_type, values, compare) => {
  fc.assert(
    fc.property(values, ([a, b]) => {
      const expected = Math.sign(compare(a as never, b as never)) + 0;
      expect(Buffer.compare(sortKey(a, false), sortKey(b, false))).toBe(expected);
      expect(Buffer.compare(sortKey(a, true), sortKey(b, true))).toBe(0 - expected);
    }),
    { numRuns: 500, seed: Number(process.env['FC_SEED'] ?? 1) },
  );
});

test('values of different types are grouped, and missing ones are last either way', () => {
  const values = [true, -1, new Uint(0n), new Double(-1), '', new Timestamp(0, 0), new Duration(0n), quantity('0')];
  for (const descending of [false, true]) {
    const keys = values.map((value) => Buffer.from(sortKey(value, descending)));
    const sorted = [...keys].sort((a, b) => Buffer.compare(a, b));
    expect(sorted).toEqual(descending ? keys.toReversed() : keys);
    for (const missing of [undefined, null, new Uint8Array()])
      expect(Buffer.compare(sortKey(missing, descending), sorted.at(-1) as Buffer)).toBe(1);
  }
});

test('a NaN is before all other doubles, and -0 equals 0', () => {
  expect(Buffer.compare(sortKey(new Double(NaN), false), sortKey(new Double(-Infinity), false))).toBe(-1);
  expect(Buffer.compare(sortKey(new Double(-0), false), sortKey(new Double(0), false))).toBe(0);
});

test.each([
  ['a', [['a', false]]],
  ['a desc', [['a', true]]],
  [
    ' a  asc , b\tdesc ',
    [
      ['a', false],
      ['b', true],
    ],
  ],
  [
    'f(a, b), [c, d], {e: f, g: h}',
    [
      ['f(a, b)', false],
      ['[c, d]', false],
      ['{e: f, g: h}', false],
    ],
  ],
  ['"a, b" desc', [['"a, b"', true]]],
  [
    "'a\\', b', c",
    [
      ["'a\\', b'", false],
      ['c', false],
    ],
  ],
  [
    "r'a\\', b",
    [
      ["r'a\\'", false],
      ['b', false],
    ],
  ],
  [
    "xr.r'a\\', b",
    [
      ["xr.r'a\\'", false],
      ['b', false],
    ],
  ],
  [
    '"""a", b""", c',
    [
      ['"""a", b"""', false],
      ['c', false],
    ],
  ],
  [
    'a.`b, c`, d',
    [
      ['a.`b, c`', false],
      ['d', false],
    ],
  ],
  ['a // b, c desc', [['a // b, c desc', false]]],
  [
    'a // b, c\n, d desc',
    [
      ['a // b, c', false],
      ['d', true],
    ],
  ],
  [
    'a,',
    [
      ['a', false],
      ['', false],
    ],
  ],
  ['desc', [['desc', false]]],
  ['adesc', [['adesc', false]]],
])('splits %j', (source, keys) => {
  expect(splitKeys(source)).toEqual(keys.map(([text, descending]) => ({ text, descending })));
});
