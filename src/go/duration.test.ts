import { formatGoDuration, parseGoDuration } from './duration.js';

/** As Go 1.26's Duration.String prints them. */
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

test.each(SHOWN)('%d ms is %s, and read back', (millis, text) => {
  expect(formatGoDuration(millis)).toBe(text);
  expect(parseGoDuration(text)).toBeCloseTo(millis, 6);
});

test('what a nanosecond is too long for is nothing', () => {
  expect(formatGoDuration(1e-8)).toBe('0s');
});
