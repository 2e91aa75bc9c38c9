import { ExpensiveWrites } from './expensive-writes.js';

const type = { name: 'a' };

test('predicts writes as heavy as one that took too long, but not lighter ones or other types', () => {
  const writes = new ExpensiveWrites();
  expect(writes.isLikelyExpensive(type, 1e6)).toBe(false);
  writes.observe(type, 1000);
  expect([999, 1000, 1e6].map((weight) => writes.isLikelyExpensive(type, weight))).toEqual([false, true, true]);
  expect(writes.isLikelyExpensive({ name: 'b' }, 1e6)).toBe(false);
  writes.observe(type, 500);
  writes.observe(type, 2000);
  expect([499, 500].map((weight) => writes.isLikelyExpensive(type, weight))).toEqual([false, true]);
});

test('after a hundred predictions the type is tried again', () => {
  const writes = new ExpensiveWrites();
  writes.observe(type, 1);
  const forecasts = Array.from({ length: 102 }, () => writes.isLikelyExpensive(type, 1));
  expect(forecasts.lastIndexOf(true)).toBe(99);
  writes.observe(type, 1);
  expect(writes.isLikelyExpensive(type, 1)).toBe(true);
});
