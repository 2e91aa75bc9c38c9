import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { silentLogger } from '../../util/logger.js';
import { heapCollections, MemoryGuard, memoryLimit, memoryUse, type Refusable, usableHeap } from './memory-guard.js';

const MIB = 1 << 20;
const OPERATIONS: readonly Refusable[] = ['create', 'update', 'list', 'watch'];

function setup() {
  const clock = new FakeClock();
  const use = { anonymous: { used: 0, limit: 1000 * MIB }, heap: { used: 0, limit: 500 * MIB } };
  let collected = (): void => undefined;
  const guard = new MemoryGuard({
    clock,
    logger: silentLogger,
    use: () => use,
    collections: (then) => {
      collected = then;
      return () => (collected = () => undefined);
    },
  });
  guard.start();
  return {
    guard,
    collect: () => {
      collected();
    },
    /** Returns the operations that are refused when the given MiB are in use. */
    after: (anonymous: number, heap: number): readonly Refusable[] => {
      use.anonymous.used = anonymous * MIB;
      use.heap.used = heap * MIB;
      clock.advance(500);
      return OPERATIONS.filter((operation) => guard.refusal(operation) !== undefined);
    },
  };
}

test('refuses creates first, then all that takes memory, and accepts them again once memory is free', () => {
  const { guard, after } = setup();
  expect(after(899, 0)).toEqual([]);
  expect(after(900, 0)).toEqual(['create']);
  expect(guard.refusal('create')).toBe('900 of 1000 MiB of the memory limit are in use; creates are refused');
  expect(after(860, 0)).toEqual(['create']);
  expect(after(950, 0)).toEqual(OPERATIONS);
  expect(guard.refusal('list')).toBe(
    '950 of 1000 MiB of the memory limit are in use; all requests except gets and deletions are refused',
  );
  expect(after(910, 0)).toEqual(OPERATIONS);
  expect(after(899, 0)).toEqual(['create']);
  expect(after(849, 0)).toEqual([]);
  expect([...guard.refused]).toEqual([
    ['create', 6],
    ['update', 2],
    ['list', 3],
    ['watch', 2],
  ]);
});

test('counts the heap that remains after a collection, as soon as it ends', () => {
  const { guard, after, collect } = setup();
  expect(after(0, 495)).toEqual([]);
  collect();
  expect(guard.refusal('list')).toBe(
    '495 of 500 MiB of the usable JavaScript heap are in use; all requests except gets and deletions are refused',
  );
  expect(after(0, 300)).toEqual(OPERATIONS);
  collect();
  expect(guard.refusal('create')).toBeUndefined();
  guard.stop();
  expect(after(0, 499)).toEqual([]);
  collect();
  expect(guard.refusal('create')).toBeUndefined();
});

test('reports a collection of the whole heap', async () => {
  const stop = await new Promise<() => void>((resolve) => {
    const end = heapCollections(() => {
      resolve(end);
    });
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
  });
  stop();
});

test('without a limit nothing is refused', () => {
  const { guard } = setup();
  const clock = new FakeClock();
  const unlimited = { anonymous: { used: 9e12, limit: 0 }, heap: { used: 1, limit: 2 } };
  new MemoryGuard({ clock, logger: silentLogger, use: () => unlimited, collections: () => () => undefined }).start();
  clock.advance(10_000);
  expect(guard.refusal('create')).toBeUndefined();
});

test('readyz reports the reason', () => {
  const { guard, after } = setup();
  void guard.check.check();
  after(920, 0);
  expect(() => guard.check.check()).toThrow('920 of 1000 MiB of the memory limit are in use; creates are refused');
});

test('the usable heap excludes the young generation, regardless of its size flag', () => {
  expect(usableHeap(148 * MIB, '--max-semi-space-size=16')).toBe(80 * MIB);
  expect(usableHeap(196 * MIB, '--max_semi_space_size 1 --max-semi-space-size=32')).toBe(80 * MIB);
  expect(usableHeap(999 * MIB, '--max-old-space-size=100')).toBe(80 * MIB);
  expect(usableHeap(999 * MIB, '--max_old_space_size 50 --max-old-space-size=100 --max-semi-space-size=1')).toBe(
    80 * MIB,
  );
  const { heap_size_limit: limit } = getHeapStatistics();
  expect(usableHeap(limit, '')).toBeLessThanOrEqual((limit - 48 * MIB) * 0.8);
});

test('the process uses less memory than its limit', () => {
  const { anonymous, heap } = memoryUse();
  expect(anonymous.used).toBeGreaterThan(10 * MIB);
  expect(heap.used).toBeLessThan(heap.limit);
  expect(memoryLimit()).toBeLessThan(2 ** 53);
});
