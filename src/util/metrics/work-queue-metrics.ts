import { type MetricSeries, type GaugeVec, type HistogramSeries, metricsOf } from './metrics.js';

const { counter, gauge, histogram } = metricsOf();

/** The buckets that Kubernetes uses: 10 ns, and each further bound ten times the previous one. */
const BUCKETS = Array.from({ length: 10 }, (_, i) => 10 ** (i - 8));
const labels = ['name'];

/** A queue that is being processed. */
export interface WatchedQueue {
  readonly name: string;
  /** The number of seconds for which each busy worker has been processing its key. */
  busySeconds(): readonly number[];
}

const queues = new Set<WatchedQueue>();

function setAll(gauge: GaugeVec, valueOf: (seconds: readonly number[]) => number): void {
  const byName = new Map<string, number[]>();
  for (const queue of queues) byName.set(queue.name, [...(byName.get(queue.name) ?? []), ...queue.busySeconds()]);
  for (const [name, seconds] of byName) gauge.withLabelValues(name).value = valueOf(seconds);
}

const depth = gauge('workqueue_depth', 'Current depth of workqueue', labels);
const adds = counter('workqueue_adds_total', 'Total number of adds handled by workqueue', labels);
const retries = counter('workqueue_retries_total', 'Total number of retries handled by workqueue', labels);
const queueDuration = histogram(
  'workqueue_queue_duration_seconds',
  'How long in seconds an item stays in workqueue before being requested.',
  labels,
  BUCKETS,
);
const workDuration = histogram(
  'workqueue_work_duration_seconds',
  'How long in seconds processing an item from workqueue takes.',
  labels,
  BUCKETS,
);
gauge(
  'workqueue_unfinished_work_seconds',
  "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
  labels,
  (gauge) => setAll(gauge, (seconds) => seconds.reduce((sum, one) => sum + one, 0)),
);
gauge(
  'workqueue_longest_running_processor_seconds',
  'How many seconds has the longest running processor for workqueue been running.',
  labels,
  (gauge) => setAll(gauge, (seconds) => Math.max(0, ...seconds)),
);

/** The metrics of one queue, with the names that work queues have in Kubernetes. */
export interface WorkQueueMetrics {
  readonly depth: MetricSeries;
  readonly adds: MetricSeries;
  readonly retries: MetricSeries;
  readonly queueDuration: HistogramSeries;
  readonly workDuration: HistogramSeries;
  /** Called when the queue has ended. */
  end(): void;
}

export function workQueueMetrics(queue: WatchedQueue): WorkQueueMetrics {
  const { name } = queue;
  queues.add(queue);
  return {
    depth: depth.withLabelValues(name),
    adds: adds.withLabelValues(name),
    retries: retries.withLabelValues(name),
    queueDuration: queueDuration.withLabelValues(name),
    workDuration: workDuration.withLabelValues(name),
    end: () => {
      queues.delete(queue);
    },
  };
}
