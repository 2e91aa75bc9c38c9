import fc from 'fast-check';
import { canonicalQuantity, Quantity } from './quantity.js';
import { canonicalMicroTime, canonicalTime } from './time.js';

describe('quantities', () => {
  const good: [string, string][] = [
    ['0', '0'],
    ['+', '0'],
    ['1', '1'],
    ['1000', '1k'],
    ['1024', '1024'],
    ['1024Ki', '1Mi'],
    ['1536Mi', '1536Mi'],
    ['0.5Gi', '512Mi'],
    ['0.5', '500m'],
    ['1.5', '1500m'],
    ['1e3', '1e3'],
    ['12e6', '12e6'],
    ['1000e3', '1e6'],
    ['0.1n', '1n'],
    ['-1.5k', '-1500'],
    ['100Ei', '9223372036854775807'],
  ];
  test.each(good)('%s', (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical);
  });
  const wrong = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  test.each([
    ['', wrong],
    ['abc', wrong],
    ['1 Gi', wrong],
    ['1KiB', wrong],
    ['1i', "unable to parse quantity's suffix"],
    ['1e', "unable to parse quantity's suffix"],
  ])('%j is refused', (text, message) => {
    expect(() => canonicalQuantity(text)).toThrow(new Error(message));
  });
  test('the canonical form has the same value and is stable', () => {
    const suffix = fc.constantFrom('', 'm', 'k', 'M', 'Ki', 'Mi', 'Gi', 'e3', 'u');
    fc.assert(
      fc.property(fc.integer({ min: -1_000_000, max: 1_000_000 }), suffix, (number, unit) => {
        const text = `${String(number)}${unit}`;
        const canonical = canonicalQuantity(text);
        expect(canonicalQuantity(canonical)).toBe(canonical);
        expect(Quantity.parse(text).compare(Quantity.parse(canonical))).toBe(0);
      }),
    );
  });
  test('sums and comparisons', () => {
    expect(Quantity.parse('1Gi').add(Quantity.parse('1Mi')).toString()).toBe('1025Mi');
    expect(Quantity.parse('0.1').compare(Quantity.parse('100m'))).toBe(0);
    expect(Quantity.parse('1500m').roundedUp()).toBe(2n);
    expect(Quantity.parse('1500m').asInteger()).toBeUndefined();
  });

  test.each([
    ['1500m', 2n],
    ['9e18', 9n * 10n ** 18n],
    ['1.2345678901234568e+29', 0n],
    ['-1e40', 0n],
    ['123456789012345678901234567890', -4362896299872285998n],
  ])('%s as an int64', (text, value) => {
    expect(Quantity.parse(text).toInt64()).toBe(value);
  });
});

describe('times', () => {
  test.each([
    ['2020-01-02T03:04:05Z', '2020-01-02T03:04:05Z'],
    ['2020-01-02T03:04:05.999+01:00', '2020-01-02T02:04:05Z'],
    ['2020-02-29T3:04:05,5Z', '2020-02-29T03:04:05Z'],
    ['0001-01-01T00:00:00Z', null],
  ])('%s', (text, canonical) => {
    expect(canonicalTime(text)).toBe(canonical);
  });
  test.each([
    ['2020-13-01T00:00:00Z', 'parsing time "2020-13-01T00:00:00Z": month out of range'],
    ['2021-02-29T00:00:00Z', 'parsing time "2021-02-29T00:00:00Z": day out of range'],
    ['2020-01-01T00:00:00Zx', 'parsing time "2020-01-01T00:00:00Zx": extra text: "x"'],
    ['2020-01-01', 'parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'],
  ])('%s is refused', (text, message) => {
    expect(() => canonicalTime(text)).toThrow(new Error(message));
  });
  test('micro times need six digits', () => {
    expect(canonicalMicroTime('2020-01-01T01:00:00.123456+01:00')).toBe('2020-01-01T00:00:00.123456Z');
    expect(() => canonicalMicroTime('2020-01-01T00:00:00Z')).toThrow(
      'parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    );
  });
});
