import { StorageError } from '../../storage/errors.js';
import type { StoreOutage } from '../../storage/outage.js';
import type { Registry } from 'prom-client';
import type { Backend, EventStream, LogEvent } from '../../storage/interfaces.js';
import { layered } from '../../storage/layered.js';
import type { Clock } from '../../util/clock.js';
import { currentSpan, withSpan, waitingWrites } from '../../util/tracing.js';
import {
  type MetricSeries,
  type CounterVec,
  type HistogramVec,
  type HistogramSeries,
  metricsOf,
  SeriesLookup,
} from '../../util/metrics/metrics.js';

const DURATIONS = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];

type Operation = 'create' | 'update' | 'delete' | 'get' | 'list';

/** Returns the group and plural of `<plural>.<group>`. */
export function splitResource(resource: string): { readonly group: string; readonly plural: string } {
  const dot = resource.indexOf('.');
  return dot < 0 ? { group: '', plural: resource } : { group: resource.slice(dot + 1), plural: resource.slice(0, dot) };
}

/** The span names of kube-apiserver, which are those of etcd, so that they are easy to find. */
const SPANS: Readonly<Record<Operation, string>> = {
  create: 'Create etcd3',
  update: 'GuaranteedUpdate etcd3',
  delete: 'Delete etcd3',
  get: 'Get etcd3',
  list: 'List(recursive=true) etcd3',
};

interface Series {
  readonly total: MetricSeries;
  readonly duration: HistogramSeries;
  readonly errors: () => MetricSeries;
}

/** Metrics of the latency of the store, under kube-apiserver's names for etcd, and of the events received from it. */
export class StoreMetrics {
  private readonly requests: CounterVec;
  private readonly durations: HistogramVec;
  private readonly errors: CounterVec;
  private readonly received: CounterVec;
  private readonly series = new SeriesLookup<Series>();
  private readonly events = new SeriesLookup<MetricSeries>();

  constructor(registry: Registry) {
    const { counter, histogram } = metricsOf(registry);
    const labels = ['operation', 'group', 'resource'];
    this.requests = counter('etcd_requests_total', 'Requests to the store by operation and type.', labels);
    this.errors = counter('etcd_request_errors_total', 'Requests to the store that failed.', labels);
    this.durations = histogram(
      'etcd_request_duration_seconds',
      'Latency of store requests by operation and type.',
      labels,
      DURATIONS,
    );
    this.received = counter('apiserver_storage_events_received_total', 'Events received from the store, by type.', [
      'group',
      'resource',
    ]);
  }

  of(operation: Operation, resource: string): Series {
    const key = `${operation} ${resource}`;
    let series = this.series.get(key);
    if (series === undefined) {
      const { group, plural } = splitResource(resource);
      const labels = [operation, group, plural];
      const errors = (): MetricSeries => this.errors.withLabelValues(...labels);
      series = {
        total: this.requests.withLabelValues(...labels),
        duration: this.durations.withLabelValues(...labels),
        errors,
      };
      this.series.set(key, series);
    }
    return series;
  }

  eventsReceived(batch: readonly LogEvent[]): void {
    for (const { resource } of batch) {
      let cell = this.events.get(resource);
      if (cell === undefined) {
        const { group, plural } = splitResource(resource);
        cell = this.received.withLabelValues(group, plural);
        this.events.set(resource, cell);
      }
      cell.inc();
    }
  }
}

function traced<T>(operation: Operation, resource: string, work: () => Promise<T>): Promise<T> {
  return withSpan(SPANS[operation], { resource }, async () => {
    const span = currentSpan();
    const isWrite = operation !== 'get' && operation !== 'list' && span !== undefined;
    if (isWrite) waitingWrites.add(span);
    try {
      return await work();
    } finally {
      if (isWrite) waitingWrites.delete(span);
    }
  });
}

export interface MeasuringTools {
  readonly metrics: StoreMetrics;
  /** Receives the errors of requests to the store. */
  readonly troubles: { requestFailed(operation: string, error: unknown): void };
  readonly clock: Clock;
  /** Returns why a write is refused at the moment; undefined if it is not. */
  readonly memory: { refusal(operation: 'create' | 'update'): string | undefined };
  /** Limits how long requests wait while the store is away. Absent if the store is local. */
  readonly outage?: Pick<StoreOutage, 'age' | 'within' | 'passed'> | undefined;
}

/** Returns a backend that measures another one and reports its failures. */
export function measuredBackend(backend: Backend, tools: MeasuringTools): Backend {
  const { metrics, troubles, memory, outage } = tools;
  return layered(backend, {
    get: (resource, key) => measure(tools, 'get', resource, () => bounded(tools, () => backend.get(resource, key))),
    list: (resource, options) =>
      measure(tools, 'list', resource, () => bounded(tools, () => backend.list(resource, options))),
    write: (request) => {
      const operation = request.value === undefined ? 'delete' : request.expected === 0 ? 'create' : 'update';
      const refusal = operation === 'delete' ? undefined : memory.refusal(operation);
      if (refusal !== undefined) return Promise.reject(new StorageError('unavailable', refusal));
      return measure(tools, operation, request.resource, async () => {
        // A write that is not sent is certainly not committed.
        if (outage?.age !== undefined) await outage.passed();
        return backend.write(request);
      });
    },
    events: (after, signal) => counted(backend.events(after, signal), metrics),
    currentRevision: async () => {
      try {
        return await bounded(tools, () => backend.currentRevision());
      } catch (error) {
        troubles.requestFailed('revision', error);
        throw error;
      }
    },
  });
}

const bounded = <T>({ outage }: MeasuringTools, ask: () => Promise<T>): Promise<T> =>
  outage === undefined ? ask() : outage.within(ask);

async function* counted(batches: EventStream, metrics: StoreMetrics): AsyncGenerator<readonly LogEvent[]> {
  for await (const batch of batches) {
    metrics.eventsReceived(batch);
    yield batch;
  }
}

async function measure<T>(
  { metrics, troubles, clock }: MeasuringTools,
  operation: Operation,
  resource: string,
  work: () => Promise<T>,
): Promise<T> {
  const series = metrics.of(operation, resource);
  const start = clock.monotonic();
  series.total.inc();
  try {
    return await (currentSpan() === undefined ? work() : traced(operation, resource, work));
  } catch (error) {
    series.errors().inc();
    troubles.requestFailed(operation, error);
    throw error;
  } finally {
    series.duration.observe((clock.monotonic() - start) / 1000);
  }
}
