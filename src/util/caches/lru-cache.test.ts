import { LruCache } from './lru-cache.js';

test('evicts the least recently used entry', () => {
  const evicted: string[] = [];
  const cache = new LruCache<string, number>({ capacity: 2, onEvict: (key) => evicted.push(key) });
  cache.set('a', 1);
  cache.set('b', 2);
  expect(cache.get('a')).toBe(1);
  cache.set('c', 3);
  expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3]);
  expect(evicted).toEqual(['b']);
});

test('bounds the weight of its entries, and keeps the newest regardless of its weight', () => {
  const cache = new LruCache<string, string>({ capacity: 10, weigh: (key, value) => key.length + value.length });
  cache.set('a', '1234');
  cache.set('b', '1234');
  expect([cache.size, cache.weight]).toEqual([2, 10]);
  cache.set('a', '12');
  expect([cache.size, cache.weight]).toEqual([2, 8]);
  cache.set('c', '12345678901234');
  expect([cache.size, cache.get('c')]).toEqual([1, '12345678901234']);
  cache.delete('c');
  expect(cache.weight).toBe(0);
});
