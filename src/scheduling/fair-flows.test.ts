import { FairFlows } from './fair-flows.js';

/** Returns the items in the order in which they are taken; each is finished before the next one is taken. */
function order(flows: FairFlows<string>): string {
  const taken: string[] = [];
  for (let next = flows.take(); next !== undefined; next = flows.take()) {
    taken.push(next.item);
    flows.finish(next.flow);
  }
  return taken.join(' ');
}

test('flows take turns, and a new one is next after at most one item', () => {
  const flows = new FairFlows<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) flows.push(item.charAt(0), item);
  expect(order(flows)).toBe('a1 b1 c1 a2 c2 a3');
  expect(flows).toMatchObject({ waiting: 0, weight: 0, size: 0 });
});

test('the flow with the least running work is next', () => {
  const flows = new FairFlows<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1']) flows.push(item.charAt(0), item);
  expect([flows.take(), flows.take(), flows.take()]).toEqual([
    { flow: 'a', item: 'a1' },
    { flow: 'b', item: 'b1' },
    { flow: 'a', item: 'a2' },
  ]);
  flows.push('b', 'b2');
  expect(flows.take()?.item).toBe('b2');
});

test('a flow runs no more than it may', () => {
  const flows = new FairFlows<string>({ maxRunningPerFlow: 1 });
  expect([flows.tryStart('a'), flows.tryStart('a')]).toEqual([true, false]);
  flows.push('a', 'a2');
  expect(flows.take()).toBeUndefined();
  flows.finish('a');
  expect(flows.tryStart('a')).toBe(false);
  expect(flows.take()?.item).toBe('a2');
});

test('weights are those of the waiting items', () => {
  const flows = new FairFlows<string>({ weigh: ({ length }) => length });
  flows.push('a', 'xxx');
  flows.push('a', 'y');
  flows.push('b', 'zz');
  expect([flows.weight, flows.weightOf('a'), flows.waitingOf('a')]).toEqual([6, 4, 2]);
  expect([flows.remove('a', 'xxx'), flows.remove('a', 'xxx'), flows.remove('c', 'xxx')]).toEqual([true, false, false]);
  expect(order(flows)).toBe('y zz');
  expect([flows.weight, flows.size]).toEqual([0, 0]);
});
