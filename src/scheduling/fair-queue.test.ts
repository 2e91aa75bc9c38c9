import { FakeClock } from '../../test/fakes/util/clock.js';
import { TimerWheel } from '../util/timer-wheel.js';
import { FairQueue } from './fair-queue.js';

function setup(seats: number) {
  const clock = new FakeClock();
  const queue = new FairQueue({ seats, waitMillis: 15_000, wheel: new TimerWheel(clock), clock });
  const log: string[] = [];
  /** Starts a request that runs until `leave`. */
  const enter = (flow: string, signal = new AbortController().signal): void => {
    if (queue.tryEnter(flow)) log.push(flow);
    else void queue.wait(flow, signal).then((refusal) => log.push(refusal === undefined ? flow : `${flow} ${refusal}`));
  };
  const leave = async (flow: string): Promise<string[]> => {
    queue.release(flow);
    await Promise.resolve();
    return log.splice(0);
  };
  return { clock, queue, log, enter, leave };
}

test('with enough seats no request waits, and nothing is left behind', () => {
  const { queue, log, enter } = setup(4);
  enter('a');
  enter('b');
  expect(log).toEqual(['a', 'b']);
  queue.release('a');
  queue.release('b');
  expect(queue).toMatchObject({ running: 0, queued: 0, size: 0 });
});

test('a flow leaves a quarter of the seats to others', () => {
  const { queue, log, enter } = setup(8);
  for (let i = 0; i < 8; i++) enter('loud');
  expect(log).toHaveLength(6);
  enter('quiet');
  expect(log).toHaveLength(7);
  expect(queue).toMatchObject({ running: 7, queued: 2 });
});

test('a free seat goes to the flow with the fewest seats, in the order of its requests', async () => {
  const { log, enter, leave } = setup(4);
  for (const flow of ['loud', 'loud', 'loud', 'x']) enter(flow);
  expect(log.splice(0)).toEqual(['loud', 'loud', 'loud', 'x']);
  for (const flow of ['loud', 'loud', 'loud', 'quiet', 'quiet', 'third']) enter(flow);
  expect(await leave('loud')).toEqual(['quiet']);
  expect(await leave('loud')).toEqual(['third']);
  expect(await leave('quiet')).toEqual(['quiet']);
  expect(await leave('x')).toEqual(['loud']);
});

test('without a limit no request waits', () => {
  const { log, enter } = setup(0);
  for (let i = 0; i < 1000; i++) enter('a');
  expect(log).toHaveLength(1000);
});

test('a request that waits too long is refused and leaves the queue', async () => {
  const { clock, queue, log, enter, leave } = setup(1);
  enter('a');
  enter('b');
  clock.advance(14_000);
  await Promise.resolve();
  expect(log.splice(0)).toEqual(['a']);
  clock.advance(2_000);
  await Promise.resolve();
  expect(log.splice(0)).toEqual(['b time-out']);
  expect(queue.queued).toBe(0);
  expect(await leave('a')).toEqual([]);
});

test('a request whose client disconnects leaves the queue', async () => {
  const { queue, log, enter } = setup(1);
  const gone = new AbortController();
  enter('a');
  enter('b', gone.signal);
  gone.abort();
  await Promise.resolve();
  expect(log).toEqual(['a', 'b cancelled']);
  expect(queue.queued).toBe(0);
});

test('each queue and the total are bounded', async () => {
  const { queue, log, enter } = setup(4);
  for (let i = 0; i < 3 + 51; i++) enter('a');
  await Promise.resolve();
  expect(log).toEqual(['a', 'a', 'a', 'a queue-full']);
  for (let user = 0; user < 20; user++) for (let i = 0; i < 50; i++) enter(`u${user}`);
  await Promise.resolve();
  expect(queue).toMatchObject({ running: 4, queued: 1000 });
  expect(log.filter((line) => line.endsWith('queue-full'))).toHaveLength(50);
});
