import { Double, Duration, Quantity, Timestamp, Uint, type Value } from '@annex/cel';
import * as fc from 'fast-check';
import { type Aggregate, type Contribution, newAccumulator, type Result } from './accumulators.js';
import { ExactSum } from './exact-sum.js';
import { isError, type Scalar, scalarOf } from './scalar.js';

const TYPES: Readonly<Record<string, fc.Arbitrary<Value>>> = {
  int: fc.oneof(fc.integer(), fc.bigInt(-(1n << 63n), (1n << 63n) - 1n)),
  uint: fc.bigInt(0n, (1n << 64n) - 1n).map((value) => new Uint(value)),
  double: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => new Double(value)),
  string: fc.string({ unit: 'binary', maxLength: 3 }),
  bool: fc.boolean(),
  duration: fc.bigInt(-(1n << 62n), 1n << 62n).map((nanos) => new Duration(nanos)),
  quantity: fc.bigInt(-(10n ** 20n), 10n ** 20n).map((nanos) => new Quantity(nanos, -9, false)),
  timestamp: fc.integer({ min: -1e9, max: 1e9 }).map((seconds) => new Timestamp(seconds, 0)),
};

const numeric = (value: Value): bigint | undefined => {
  if (typeof value === 'number' || typeof value === 'bigint') return BigInt(value);
  if (value instanceof Uint) return value.value;
  return value instanceof Duration || value instanceof Quantity ? value.nanos : undefined;
};

const FITS: Readonly<Record<string, readonly [bigint, bigint]>> = {
  int: [-(1n << 63n), (1n << 63n) - 1n],
  uint: [0n, (1n << 64n) - 1n],
  duration: [-(1n << 63n), (1n << 63n) - 1n],
};

const EMPTY: Readonly<Record<string, Value>> = {
  uint: new Uint(0n),
  double: new Double(0),
  duration: new Duration(0n),
  quantity: new Quantity(0n, -9, false),
};

const wrapped = (type: string, total: bigint): Value => {
  if (type === 'uint') return new Uint(total);
  if (type === 'duration') return new Duration(total);
  if (type === 'quantity') return new Quantity(total, -9, false);
  return Number.isSafeInteger(Number(total)) ? Number(total) : total;
};

const jsonOf = (value: Value | undefined): unknown => {
  const found = scalarOf(value);
  return found === undefined || isError(found) ? null : found.json;
};

const shown = (result: Result): unknown => (result === undefined ? null : Array.isArray(result) ? result : result.json);

const less = (a: Value, b: Value): boolean => {
  const [x, y] = [numeric(a), numeric(b)];
  if (x !== undefined && y !== undefined) return x < y;
  if (a instanceof Double && b instanceof Double) return a.value < b.value;
  if (a instanceof Timestamp && b instanceof Timestamp) return a.seconds < b.seconds;
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;
  return a === false && b === true;
};

/** What an aggregate of values is, computed from all of them. */
function naive(aggregate: Aggregate, type: string, values: readonly Value[]): unknown {
  switch (aggregate) {
    case 'count':
      return values.length;
    case 'sum': {
      if (type === 'double') return exact(values);
      const total = values.reduce<bigint>((sum, value) => sum + (numeric(value) ?? 0n), 0n);
      const [from, to] = FITS[type] ?? [total, total];
      return total < from || total > to ? null : jsonOf(wrapped(type, total));
    }
    default: {
      const [first] = [...values].sort((a, b) =>
        aggregate === 'min' ? (less(a, b) ? -1 : less(b, a) ? 1 : 0) : less(b, a) ? -1 : less(a, b) ? 1 : 0,
      );
      return jsonOf(first);
    }
  }
}

/** Adds doubles as fractions. */
function exact(values: readonly Value[]): unknown {
  const sum = new ExactSum();
  for (const value of values) if (value instanceof Double) sum.add(value.value);
  return Number.isFinite(sum.value) ? sum.value + 0 : null;
}

const contribution = (value: Value): Contribution => ({ scalar: scalarOf(value) as Scalar });

const CASES = [
  ...['count', 'min', 'max'].flatMap((of) => Object.keys(TYPES).map((type) => [of, type] as const)),
  ...['int', 'uint', 'double', 'duration', 'quantity'].map((type) => ['sum', type] as const),
] as readonly (readonly [Aggregate, string])[];

test.each(CASES)(
  '%s of %s is that of the values that are there, in whatever order they came and went',
  (aggregate, type) => {
    const values = fc.array(fc.tuple(TYPES[type] as fc.Arbitrary<Value>, fc.boolean()), { maxLength: 20 });
    fc.assert(
      fc.property(values, fc.boolean(), (steps, removes) => {
        const accumulator = newAccumulator({ aggregate, empty: EMPTY[type] ?? 0, count: 1, removes });
        for (const [value] of steps) accumulator.add(contribution(value));
        const left = removes ? steps.filter(([, stays]) => stays) : steps;
        if (removes) for (const [value, stays] of steps) if (!stays) accumulator.remove(contribution(value));
        const wanted = left.map(([value]) => value);
        expect(shown(accumulator.result())).toEqual(naive(aggregate, type, wanted));
      }),
    );
  },
);

test('the sum of doubles is rounded once', () => {
  const sum = new ExactSum();
  for (const value of [1e308, 1e308, -1e308, 2 ** -1074, 1, 2 ** -53, -1e308]) sum.add(value);
  expect(sum.value).toBe(1 + 2 ** -52);
  sum.remove(2 ** -1074);
  expect(sum.value).toBe(1);
  sum.add(2 ** -53);
  expect(sum.value).toBe(1 + 2 ** -52);
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const one = new ExactSum();
      one.add(value);
      expect(one.value + 0).toBe(value + 0);
    }),
  );
});

test('the average is a double, exact beyond 2^53', () => {
  const average = newAccumulator({ aggregate: 'average', empty: null, count: 0, removes: true });
  expect(average.result()).toBeUndefined();
  for (const value of [9007199254740993n, 9007199254740995n, 1]) average.add(contribution(value));
  average.remove(contribution(1));
  expect(shown(average.result())).toBe(9007199254740994);
  for (const value of [1, 2]) average.add(contribution(value));
  average.remove(contribution(9007199254740993n));
  average.remove(contribution(9007199254740995n));
  expect(shown(average.result())).toBe(1.5);
});

test.each(['sum', 'min', 'max', 'average', 'top'] as const)(
  '%s over values of different types has none',
  (aggregate) => {
    for (const removes of [true, false]) {
      const accumulator = newAccumulator({ aggregate, empty: 0, count: 2, removes });
      const place = { key: 'k', types: '' };
      accumulator.add({ ...contribution(1), place });
      accumulator.add({ ...contribution(new Double(2)), place: { key: 'l', types: '' } });
      expect(accumulator.result()).toBeUndefined();
      if (!removes) continue;
      accumulator.remove({ ...contribution(1), place });
      expect(shown(accumulator.result())).toEqual(aggregate === 'top' ? [2] : 2);
    }
  },
);

test('top keeps the first in the order', () => {
  const place = fc.string({ minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(
      fc.uniqueArray(place, { maxLength: 1500 }),
      fc.integer({ min: 1, max: 9 }),
      fc.boolean(),
      (keys, count, removes) => {
        const top = newAccumulator({ aggregate: 'top', empty: null, count, removes });
        const of = (key: string): Contribution => ({ ...contribution(key), place: { key, types: '' } });
        for (const key of keys) top.add(of(key));
        const gone = removes ? keys.filter((_, i) => i % 3 === 0) : [];
        for (const key of gone) top.remove(of(key));
        const wanted = keys.filter((key) => !gone.includes(key)).sort((a, b) => (a < b ? -1 : 1));
        expect(top.result()).toEqual(wanted.slice(0, count));
      },
    ),
  );
});
