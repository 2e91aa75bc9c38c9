import { FakeClock } from '../../../test/fakes/util/clock.js';
import { boundedKey, TtlCache } from './ttl-cache.js';

const cacheOf = (maxBytes: number, clock = new FakeClock()) =>
  new TtlCache<string>({ name: 'test', clock, maxBytes, maxEntryBytes: maxBytes, weigh: ({ length }) => length });

test('is bounded by bytes, and evicts the least recently used entry', () => {
  const cache = cacheOf(600);
  cache.set('a', '', 10);
  cache.set('b', '', 10);
  expect(cache.get('a')).toBe('');
  cache.set('c', '', 10);
  expect([cache.get('a'), cache.get('b'), cache.get('c'), cache.size]).toEqual(['', undefined, '', 2]);
  cache.set('d', 'x'.repeat(300), 10);
  expect([cache.size, cache.weight]).toEqual([1, 256 + 2 + 300]);
});

test('an entry that is too large is not kept, and replaces the one that was', () => {
  const cache = cacheOf(1000);
  cache.set('a', '1', 10);
  cache.set('a', 'x'.repeat(1000), 10);
  expect([cache.get('a'), cache.weight]).toEqual([undefined, 0]);
});

test('expired entries go without being asked for', () => {
  const clock = new FakeClock();
  const cache = cacheOf(10_000, clock);
  cache.set('short', '', 1000);
  cache.set('long', '', 45_000);
  clock.advance(31_000);
  expect(cache.size).toBe(1);
  clock.advance(30_000);
  expect([cache.size, cache.weight]).toEqual([0, 0]);
});

test('the key of a long text has a fixed length, and differs by text', () => {
  const [one, other] = ['a', 'b'].map((end) => boundedKey('{' + 'x'.repeat(1 << 20) + end));
  expect([one?.length, one === other, boundedKey('{}')]).toEqual([44, false, '{}']);
});
