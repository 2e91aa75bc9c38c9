import { FakeClock } from '../../test/fakes/util/clock.js';
import { ApiRegistry } from '../registry/generic/store/api-registry.js';
import { WorkQueue } from '../util/work-queue.js';
import { TypeWatches } from './type-watches.js';

/** Runs pending promise callbacks. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('each wanted type is watched once, again after its watch ended, and not after it was dropped', async () => {
  const clock = new FakeClock();
  const pass = async (millis: number): Promise<void> => {
    await settled();
    clock.advance(millis);
    await settled();
  };
  const started: string[] = [];
  const running = new Map<string, { readonly end: () => void; readonly signal: AbortSignal }>();
  const watches = new TypeWatches(clock, (resource, signal) => {
    started.push(resource);
    return new Promise((resolve, reject) => {
      const end = (): void => {
        if (started.length === 1) reject(new Error('broken'));
        else resolve();
      };
      running.set(resource, { end, signal });
    });
  });
  expect(watches.follow(new Set(['a']))).toEqual([]);
  running.get('a')?.end();
  await pass(1000);
  expect(started).toEqual(['a', 'a']);
  expect(watches.follow(new Set(['a', 'b']))).toEqual([]);
  expect(started).toEqual(['a', 'a', 'b']);
  expect(watches.follow(new Set(['b']))).toEqual(['a']);
  expect([...running.values()].map(({ signal }) => signal.aborted)).toEqual([true, false]);
  running.get('a')?.end();
  await pass(5000);
  expect(started).toEqual(['a', 'a', 'b']);
  const aborted = new AbortController();
  const queue = new WorkQueue({ name: 'types', clock, reconcile: () => Promise.resolve() });
  watches.run(new ApiRegistry(), queue, aborted.signal, () => undefined);
  aborted.abort();
  expect(running.get('b')?.signal.aborted).toBe(true);
  queue.add('key');
  expect(queue.length).toBe(0);
});
