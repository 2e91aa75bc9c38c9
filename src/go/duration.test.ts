import { formatGoDuration, parseGoDuration } from './duration.js';

/** The output of Duration.String in Go 1.26. */
const SHOWN: readonly (readonly [number, string])[] = [
  [0, '0s'],
  [1e-6, '1ns'],
  [0.000999, '999ns'],
  [0.001, '1µs'],
  [0.0423, '42.3µs'],
  [0.999999, '999.999µs'],
  [1, '1ms'],
  [3.25, '3.25ms'],
  [1300.4, '1.3004s'],
  [59999.999999, '59.999999999s'],
  [60000, '1m0s'],
  [61500, '1m1.5s'],
  [3_600_000, '1h0m0s'],
  [5025000.000001, '1h23m45.000000001s'],
  [-1.5, '-1.5ms'],
];

test.each(SHOWN)('%d ms is formatted as %s, and parsed back', (millis, text) => {
  expect(formatGoDuration(millis)).toBe(text);
  expect(parseGoDuration(text)).toBeCloseTo(millis, 6);
});

test('a duration below one nanosecond is zero', () => {
  expect(formatGoDuration(1e-8)).toBe('0s');
});
