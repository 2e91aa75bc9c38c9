import { Turns } from './turns.js';

function setup() {
  const due: (() => void)[] = [];
  const turns = new Turns((callback) => due.push(callback));
  const log: string[] = [];
  const work = (flow: string, name = flow): void => {
    const turn = turns.take(flow);
    if (turn === undefined) log.push(name);
    else void turn.then(() => log.push(name));
  };
  /** Runs one turn of the event loop. */
  const go = async (): Promise<void> => {
    for (const callback of due.splice(0)) callback();
    await Promise.resolve();
  };
  return { turns, log, work, go, due };
}

test('without waiters the turn is taken immediately, and nothing is left behind', async () => {
  const { turns, log, work, go, due } = setup();
  work('a');
  expect(log).toEqual(['a']);
  await go();
  expect(due).toEqual([]);
  work('a');
  expect(log).toEqual(['a', 'a']);
  expect(turns.waiting).toBe(0);
});

test('one piece of work runs per turn, and flows alternate regardless of how much work each has', async () => {
  const { turns, log, work, go } = setup();
  for (let i = 1; i <= 4; i++) work('loud', `loud ${i}`);
  work('quiet');
  work('third');
  expect(log).toEqual(['loud 1']);
  expect(turns.waiting).toBe(5);
  const order: string[][] = [];
  for (let i = 0; i < 6; i++) {
    await go();
    order.push(log.splice(0));
  }
  expect(order).toEqual([['loud 1', 'loud 2'], ['quiet'], ['third'], ['loud 3'], ['loud 4'], []]);
});

test('yielding never continues in the same turn', async () => {
  const { turns, go } = setup();
  const over = jest.fn();
  void turns.wait('a').then(over);
  expect(over).not.toHaveBeenCalled();
  await go();
  expect(over).toHaveBeenCalledTimes(1);
});
