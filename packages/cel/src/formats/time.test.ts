import { parseTime, timeParseError } from './time.js';

test.each([
  ['2024-02-29', ''],
  ['', 'parsing time "" as "2006-01-02": cannot parse "" as "2006"'],
  ['abc', 'parsing time "abc" as "2006-01-02": cannot parse "abc" as "2006"'],
  ['2024-1-1', 'parsing time "2024-1-1" as "2006-01-02": cannot parse "1-1" as "01"'],
  ['2024-13-01', 'parsing time "2024-13-01": month out of range'],
  ['2023-02-29', 'parsing time "2023-02-29": day out of range'],
  ['2023-02-29T', 'parsing time "2023-02-29T": extra text: "T"'],
])('%j as a date', (text, fault) => {
  expect(timeParseError(text, 'date')).toBe(fault);
});

test.each([
  ['2024-01-01T1:02:03.5', ''],
  ['2024-01-01', 'parsing time "2024-01-01" as "2006-01-02T15:04:05": cannot parse "" as "T"'],
  ['2024-01-01T24:00:00', 'parsing time "2024-01-01T24:00:00": hour out of range'],
  ['2024-02-30T00:00:00Z', 'parsing time "2024-02-30T00:00:00Z": extra text: "Z"'],
])('%j as a time without a zone', (text, fault) => {
  expect(timeParseError(text, 'local')).toBe(fault);
});

test('parses a time with a zone', () => {
  expect(parseTime('2024-01-01T00:00:01.5+01:00')).toEqual({ seconds: 1704063601, nanos: 500_000_000 });
});
