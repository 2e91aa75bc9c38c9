import { FakeClock } from '../../test/fakes/util/clock.js';
import { RateLimit } from './rate-limit.js';

test('a late page does not lower the rate, and a long pause saves up at most one second', async () => {
  const clock = new FakeClock();
  const rate = new RateLimit(clock, 1_000);
  const { signal } = new AbortController();
  const began = clock.monotonic();
  let taken = 0;
  const take = async (): Promise<void> => {
    const waiting = { over: false };
    const done = rate.take(100, signal).then(() => (waiting.over = true));
    await Promise.resolve();
    while (!waiting.over) {
      clock.advance(10);
      await new Promise(setImmediate);
    }
    await done;
    taken += 100;
  };
  for (let i = 0; i < 50; i++) {
    // Every fifth page takes three times its share.
    clock.advance(i % 5 === 0 ? 300 : 20);
    await take();
  }
  const seconds = (clock.monotonic() - began) / 1000;
  expect(taken / seconds).toBeGreaterThan(930);
  expect(taken / seconds).toBeLessThan(1_010);
  clock.advance(60_000);
  const resumed = clock.monotonic();
  for (let i = 0; i < 20; i++) await take();
  expect(clock.monotonic() - resumed).toBeGreaterThanOrEqual(900);
});
