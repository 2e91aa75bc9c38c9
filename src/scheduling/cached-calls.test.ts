import { FakeClock } from '../../test/fakes/util/clock.js';
import { CachedCalls } from './cached-calls.js';

const callsOf = (max = 1): CachedCalls<string> =>
  new CachedCalls<string>({
    name: 'test',
    clock: new FakeClock(),
    maxBytes: 1 << 20,
    weigh: ({ length }) => length,
    max,
    maxPerFlow: max,
    waitMillis: 1_000,
  });

test('callers with the same key share a call; the next one begins after its end, also if it failed', async () => {
  const calls = callsOf();
  let begun = 0;
  const ask = async (): Promise<string> => {
    begun++;
    await Promise.resolve();
    if (begun === 1) throw new Error('away');
    return 'yes';
  };
  const [first, second] = [calls.shared('a', ask), calls.shared('a', ask)];
  expect(second).toBe(first);
  await expect(first.outcome).rejects.toThrow('away');
  await expect(calls.shared('a', ask).outcome).resolves.toBe('yes');
  expect(begun).toBe(2);
});

test('a call that all its callers have left is not joined', async () => {
  const calls = callsOf();
  const leaving = new AbortController();
  const left = calls.shared('a', () => new Promise<string>((resolve) => setImmediate(resolve, 'late')));
  const gone = left.join(leaving.signal, () => 'left');
  leaving.abort();
  const next = calls.shared('a', () => Promise.resolve('fresh'));
  await expect(next.outcome).resolves.toBe('fresh');
  await gone;
  // The end of the call that was left does not remove a later one.
  const third = calls.shared('a', () => new Promise<string>(() => undefined));
  await left.outcome;
  expect(calls.shared('a', () => Promise.resolve('other'))).toBe(third);
});

test('answers are known for a while, and calls take turns', async () => {
  const calls = callsOf();
  calls.remember('a', 'kept', 1_000);
  calls.remember('b', 'not kept', 0);
  expect([calls.known('a'), calls.known('b'), calls.cached.size]).toEqual(['kept', undefined, 1]);
  const order: string[] = [];
  const run = (name: string): Promise<void> =>
    calls.run(name, async () => {
      order.push(`${name} begins`);
      await Promise.resolve();
      order.push(`${name} ends`);
    });
  await Promise.all([run('one'), run('two')]);
  expect(order).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
});
