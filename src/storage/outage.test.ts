import { FakeClock } from '../../test/fakes/util/clock.js';
import { StorageError } from './errors.js';
import { StoreOutage } from './outage.js';

const NEVER = new Promise<never>(() => undefined);

async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

function setUp() {
  const clock = new FakeClock();
  const told: string[] = [];
  const store: { ping: () => Promise<void> } = { ping: () => Promise.resolve() };
  const outage = new StoreOutage({
    clock,
    store: 'MongoDB',
    began: (error) => void told.push(`began: ${error instanceof Error ? error.message : ''}`),
    ended: (millis) => void told.push(`ended after ${millis}`),
  });
  outage.start(() => store.ping());
  const pass = async (millis: number): Promise<void> => {
    for (let i = 0; i < millis; i += 250) {
      clock.advance(250);
      await settle();
    }
  };
  const ask = (answer: () => Promise<string> = () => NEVER): { result: string } => {
    const seen = { result: 'waits' };
    const began = clock.monotonic();
    outage.within(answer).then(
      (value) => (seen.result = value),
      (error: unknown) => {
        const { message, info } = error as StorageError;
        const after = clock.monotonic() - began;
        seen.result = `${message}, after ${after}${info.lasting === true ? ', lasting' : ''}`;
      },
    );
    return seen;
  };
  return { clock, told, store, outage, pass, ask };
}

describe('an outage', () => {
  test('begins with a question that fails, ends with an answer, and is told once', async () => {
    const { told, store, outage, pass } = setUp();
    await pass(5_000);
    expect([outage.age, told]).toEqual([undefined, []]);
    store.ping = () => Promise.reject(new Error('no primary'));
    await pass(3_000);
    expect(outage.age).toBeGreaterThanOrEqual(2_000);
    expect([outage.steadyMillis, outage.reason]).toEqual([0, 'MongoDB has not answered for 3 s']);
    store.ping = () => Promise.resolve();
    await pass(1_000);
    expect(outage.age).toBeUndefined();
    await pass(2_000);
    expect(outage.steadyMillis).toBeGreaterThan(1_000);
    expect(told).toEqual(['began: no primary', 'ended after 3250']);
  });

  test('is noticed within 2.5 s if MongoDB hangs', async () => {
    const { store, outage, pass } = setUp();
    await pass(1_000);
    store.ping = () => NEVER;
    await pass(2_500);
    expect(outage.age).toBe(2_500);
  });

  test('a request that hangs is refused within 3 s, even if it came before the outage was noticed', async () => {
    const { store, pass, ask } = setUp();
    await pass(1_000);
    store.ping = () => NEVER;
    const early = ask();
    await pass(2_500);
    const late = ask();
    await pass(3_000);
    expect(early.result).toBe('MongoDB has not answered for 3 s, after 2750');
    expect(late.result).toBe('MongoDB has not answered for 5 s, after 2500');
  });

  test('a slow request is not refused while MongoDB answers', async () => {
    const { pass, ask } = setUp();
    const slow = ask();
    await pass(60_000);
    expect(slow.result).toBe('waits');
  });

  test('a request that is answered during an outage succeeds; one that ends in an error fails with it', async () => {
    const { store, pass, ask } = setUp();
    store.ping = () => NEVER;
    await pass(4_000);
    const [good, bad] = [
      ask(() => Promise.resolve('found')),
      ask(() => Promise.reject(new StorageError('compacted', 'gone'))),
    ];
    await settle();
    expect([good.result, bad.result]).toEqual(['found', 'gone, after 0']);
  });

  test('when it lasts, waiting requests and new ones are refused at once, and clients are not told to try again', async () => {
    const { store, pass, ask } = setUp();
    store.ping = () => NEVER;
    await pass(14_500);
    const before = ask();
    await pass(750);
    expect(before.result).toMatch(/^MongoDB has not answered for 15 s, after (500|750), lasting$/);
    let asked = 0;
    const after = ask(() => {
      asked++;
      return Promise.resolve('');
    });
    await settle();
    expect([after.result, asked]).toEqual(['MongoDB has not answered for 15 s, after 0, lasting', 0]);
  });

  test('a write waits for its end, for as long as a read would', async () => {
    const { store, outage, pass } = setUp();
    store.ping = () => NEVER;
    await pass(3_000);
    const results: string[] = [];
    const wait = (): void =>
      void outage.passed().then(
        () => results.push('passed'),
        () => results.push('refused'),
      );
    wait();
    await pass(3_000);
    wait();
    store.ping = () => Promise.resolve();
    await pass(2_500);
    expect(results).toEqual(['refused', 'passed']);
    await outage.passed();
  });

  test('listeners hear of the end; stopping rejects what waits', async () => {
    const { store, outage, pass, ask } = setUp();
    let ends = 0;
    outage.onEnd(() => ends++);
    store.ping = () => Promise.reject(new Error('away'));
    await pass(2_000);
    store.ping = () => Promise.resolve();
    await pass(2_000);
    expect(ends).toBe(1);
    const waiting = ask();
    outage.stop();
    await settle();
    expect(waiting.result).toBe('the store is closed, after 0');
  });
});
