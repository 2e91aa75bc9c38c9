import { UsageError } from '../failure.js';
import { timeOf } from './times.js';

const NOW = Date.UTC(2026, 10, 22, 12);

test.each([
  ['10m', '2026-11-22T11:50:00Z'],
  ['1h30m', '2026-11-22T10:30:00Z'],
  ['7d', '2026-11-15T12:00:00Z'],
  ['2026-11-22T10:00:00Z', '2026-11-22T10:00:00Z'],
  ['2026-11-22T10:00:00+02:00', '2026-11-22T08:00:00Z'],
])('%s is %s', (text, time) => {
  expect(timeOf('since', text, NOW)).toBe(time);
});

test.each(['', 'yesterday', '-5m', '10', '2026'])('%j is no time', (text) => {
  expect(() => timeOf('since', text, NOW)).toThrow(UsageError);
});
