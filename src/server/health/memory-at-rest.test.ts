import { FakeClock } from '../../../test/fakes/util/clock.js';
import { collectAll, MemoryAtRest } from './memory-at-rest.js';

const MIB = 1 << 20;

function setup() {
  const clock = new FakeClock();
  const state = { busy: 0, anonymous: 340, heap: 60 };
  let collections = 0;
  const memory = new MemoryAtRest({
    clock,
    use: () => ({
      anonymous: { used: state.anonymous * MIB, limit: 0 },
      heap: { used: state.heap * MIB, limit: 0 },
    }),
    utilization: () => state.busy,
    collect: () => {
      collections++;
      state.anonymous = 215;
    },
  });
  memory.start();
  /** Returns the number of collections of some looks. */
  const looks = (count: number): number => {
    const before = collections;
    for (let i = 0; i < count; i++) clock.advance(20_000);
    return collections - before;
  };
  return { memory, state, looks };
}

test('a server at rest collects once, and again after it has grown', () => {
  const { memory, state, looks } = setup();
  expect(looks(1)).toBe(0);
  expect(looks(5)).toBe(1);
  state.anonymous = 240;
  expect(looks(5)).toBe(0);
  state.anonymous = 250;
  expect(looks(5)).toBe(1);
  memory.stop();
  state.anonymous = 400;
  expect(looks(5)).toBe(0);
});

test('a server that works, or has a large heap, does not', () => {
  const { state, looks } = setup();
  state.busy = 0.1;
  expect(looks(5)).toBe(0);
  state.busy = 0.01;
  state.heap = 200;
  expect(looks(5)).toBe(0);
  state.heap = 50;
  expect(looks(1)).toBe(1);
});

test('a collection frees garbage', () => {
  const before = process.memoryUsage().heapUsed;
  const garbage: object[] = Array.from({ length: 300_000 }, (_, i) => ({ i }));
  expect(process.memoryUsage().heapUsed - before).toBeGreaterThan(garbage.length);
  garbage.length = 0;
  collectAll();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(4 * MIB);
});
