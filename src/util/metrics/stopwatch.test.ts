import { FakeClock } from '../../../test/fakes/util/clock.js';
import { type Layer, timed } from './stopwatch.js';

describe('timed', () => {
  const clock = new FakeClock();
  const noted: [Layer, number][] = [];
  const watch = {
    monotonic: () => clock.monotonic(),
    record: (layer: Layer, millis: number): unknown => noted.push([layer, millis]),
  };
  const work = (): number => {
    clock.advance(7);
    return 1;
  };
  const failing = (): number => {
    work();
    throw new Error('no');
  };
  beforeEach(() => {
    noted.length = 0;
  });

  test('records synchronous work, even if it fails', () => {
    expect(timed(watch, 'etcd', work)).toBe(1);
    expect(() => timed(watch, 'etcd', failing)).toThrow('no');
    expect(noted).toEqual([
      ['etcd', 7],
      ['etcd', 7],
    ]);
  });

  test('records a promise when it settles, before its awaiter continues', async () => {
    let settle: (value: number) => void = () => undefined;
    const running = timed(watch, 'etcd', () => new Promise<number>((resolve) => (settle = resolve)));
    clock.advance(20);
    expect(noted).toEqual([]);
    settle(2);
    await expect(running).resolves.toBe(2);
    expect(noted).toEqual([['etcd', 20]]);
    await expect(timed(watch, 'etcd', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(noted).toHaveLength(2);
  });

  test('runs the work without a stopwatch', () => {
    expect(timed(undefined, 'etcd', work)).toBe(1);
    expect(() => timed(undefined, 'etcd', failing)).toThrow('no');
  });
});
