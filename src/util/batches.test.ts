import { setImmediate as nextTurn } from 'node:timers/promises';
import { Batches } from './batches.js';

test('items that arrive while a batch is processed form the next one, separately for each key', async () => {
  const batches: [string, readonly number[]][] = [];
  const queue = new Batches<number>(
    async (key, batch) => {
      batches.push([key, batch]);
      await nextTurn();
    },
    () => undefined,
  );
  queue.add('a', 1);
  queue.add('a', 2);
  queue.add('b', 3);
  queue.add('a', 4);
  await nextTurn();
  await nextTurn();
  await nextTurn();
  queue.add('a', 5);
  expect(batches).toEqual([
    ['a', [1]],
    ['b', [3]],
    ['a', [2, 4]],
    ['a', [5]],
  ]);
});

test('reports each item of a batch that could not be processed, and continues with the next', async () => {
  const failed: [number, unknown][] = [];
  const error = new Error('no store');
  const queue = new Batches<number>(
    async () => {
      await nextTurn();
      throw error;
    },
    (item, why) => failed.push([item, why]),
  );
  queue.add('a', 1);
  queue.add('a', 2);
  for (let i = 0; i < 4; i++) await nextTurn();
  expect(failed).toEqual([
    [1, error],
    [2, error],
  ]);
});
