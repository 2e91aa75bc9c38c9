import { FakeClock } from '../../test/fakes/util/clock.js';
import { metricsRegistry } from './metrics/metrics.js';
import { WorkQueue } from './work-queue.js';

const lines = async (): Promise<readonly string[]> =>
  (await metricsRegistry.metrics())
    .split('\n')
    .filter((line) => line.includes('name="tested"') && !line.includes('_bucket'));
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('waiting, running, and retried work is counted as in Kubernetes', async () => {
  const clock = new FakeClock();
  const ends: (() => void)[] = [];
  const work = async (key: string): Promise<void> => {
    await new Promise<void>((resolve) => ends.push(resolve));
    if (key === 'bad') throw new Error('no');
  };
  const queue = new WorkQueue({ name: 'tested', clock, reconcile: work, workers: 1 });
  queue.add('bad');
  queue.add('good');
  queue.add('good');
  clock.advance(2000);
  expect(await lines()).toEqual([
    'workqueue_depth{name="tested"} 1',
    'workqueue_adds_total{name="tested"} 2',
    'workqueue_retries_total{name="tested"} 0',
    'workqueue_queue_duration_seconds_sum{name="tested"} 0',
    'workqueue_queue_duration_seconds_count{name="tested"} 1',
    'workqueue_work_duration_seconds_sum{name="tested"} 0',
    'workqueue_work_duration_seconds_count{name="tested"} 0',
    'workqueue_unfinished_work_seconds{name="tested"} 2',
    'workqueue_longest_running_processor_seconds{name="tested"} 2',
  ]);
  ends.shift()?.();
  await turn();
  clock.advance(1000);
  ends.shift()?.();
  await turn();
  // `bad` was retried after its delay.
  expect(await lines()).toEqual([
    'workqueue_depth{name="tested"} 0',
    'workqueue_adds_total{name="tested"} 3',
    'workqueue_retries_total{name="tested"} 1',
    'workqueue_queue_duration_seconds_sum{name="tested"} 2.99',
    'workqueue_queue_duration_seconds_count{name="tested"} 3',
    'workqueue_work_duration_seconds_sum{name="tested"} 3',
    'workqueue_work_duration_seconds_count{name="tested"} 2',
    'workqueue_unfinished_work_seconds{name="tested"} 0',
    'workqueue_longest_running_processor_seconds{name="tested"} 0',
  ]);
  const stopped = queue.stop();
  ends.shift()?.();
  await stopped;
});
