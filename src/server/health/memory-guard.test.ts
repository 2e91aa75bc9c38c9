import { FakeClock } from '../../util/clock.fake.js';
import { silentLogger } from '../../util/logger.js';
import { MemoryGuard, memoryLimit, memoryUse, type Refusable, usableHeap } from './memory-guard.js';

const MIB = 1 << 20;
const OPERATIONS: readonly Refusable[] = ['create', 'update', 'list', 'watch'];

function setup() {
  const clock = new FakeClock();
  const use = { anonymous: { used: 0, limit: 1000 * MIB }, heap: { used: 0, limit: 500 * MIB } };
  const guard = new MemoryGuard({ clock, logger: silentLogger, use: () => use });
  guard.start();
  return {
    guard,
    /** What is refused when so many MiB have been in use for a while. */
    after: (anonymous: number, heap: number, millis = 500): readonly Refusable[] => {
      use.anonymous.used = anonymous * MIB;
      use.heap.used = heap * MIB;
      clock.advance(millis);
      return OPERATIONS.filter((operation) => guard.refusal(operation) !== undefined);
    },
  };
}

test('creates are refused first, then all that takes memory, and taken again when there is room', () => {
  const { guard, after } = setup();
  expect(after(899, 0)).toEqual([]);
  expect(after(900, 0)).toEqual(['create']);
  expect(guard.refusal('create')).toBe('900 of 1000 MiB of the memory limit are in use; creates are refused');
  expect(after(860, 0)).toEqual(['create']);
  expect(after(950, 0)).toEqual(OPERATIONS);
  expect(guard.refusal('list')).toBe(
    '950 of 1000 MiB of the memory limit are in use; all but gets and deletions are refused',
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

test('of the heap counts what stays in use over a while, not what the next collection frees', () => {
  const { guard, after } = setup();
  for (let i = 0; i < 20; i++) expect(after(0, i % 5 === 0 ? 200 : 495)).toEqual([]);
  expect(after(0, 470, 3_000)).toEqual(['create']);
  expect(guard.refusal('create')).toBe('470 of 500 MiB of the usable JavaScript heap are in use; creates are refused');
  expect(after(0, 300)).toEqual([]);
});

test('without a limit nothing is refused', () => {
  const { guard } = setup();
  const clock = new FakeClock();
  const unlimited = { anonymous: { used: 9e12, limit: 0 }, heap: { used: 1, limit: 2 } };
  new MemoryGuard({ clock, logger: silentLogger, use: () => unlimited }).start();
  clock.advance(10_000);
  expect(guard.refusal('create')).toBeUndefined();
});

test('readyz tells why', () => {
  const { guard, after } = setup();
  void guard.check.check();
  after(920, 0);
  expect(() => guard.check.check()).toThrow('920 of 1000 MiB of the memory limit are in use; creates are refused');
});

test('the young generation is no part of the usable heap, however large a flag makes it', () => {
  expect(usableHeap(148 * MIB, '')).toBe(92 * MIB);
  expect(usableHeap(103 * MIB, '--max-old-space-size=100 --max-semi-space-size=1')).toBe(92 * MIB);
  expect(usableHeap(196 * MIB, '--max_semi_space_size 1 --max-semi-space-size=32')).toBe(92 * MIB);
});

test('what this process uses is less than what it may use', () => {
  const { anonymous, heap } = memoryUse();
  expect(anonymous.used).toBeGreaterThan(10 * MIB);
  expect(heap.used).toBeLessThan(heap.limit);
  expect(memoryLimit()).toBeLessThan(2 ** 53);
});
