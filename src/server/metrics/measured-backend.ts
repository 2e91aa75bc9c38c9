import { StorageError } from '../../storage/errors.js';
import { DelegatingBackend } from '../../storage/delegating-backend.js';
import type { StoreOutage } from '../../storage/outage.js';
import type { Registry } from 'prom-client';
import type {
  Backend,
  EventStream,
  ListOptions,
  LogEvent,
  WriteRequest,
  WriteResult,
} from '../../storage/interfaces.js';
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

/** A backend that measures another one and reports its failures. */
export class MeasuredBackend extends DelegatingBackend {
  constructor(
    backend: Backend,
    private readonly tools: MeasuringTools,
  ) {
    super(backend);
  }

  override write(request: WriteRequest): Promise<WriteResult> {
    const operation = request.value === undefined ? 'delete' : request.expected === 0 ? 'create' : 'update';
    const refusal = operation === 'delete' ? undefined : this.tools.memory.refusal(operation);
    if (refusal !== undefined) return Promise.reject(new StorageError('unavailable', refusal));
    return this.measure(operation, request.resource, async () => {
      // A write that is not sent is certainly not committed.
      if (this.tools.outage?.age !== undefined) await this.tools.outage.passed();
      return this.inner.write(request);
    });
  }

  override get(resource: string, key: string): ReturnType<Backend['get']> {
    return this.measure('get', resource, () => this.bounded(() => this.inner.get(resource, key)));
  }

  override list(resource: string, options: ListOptions): ReturnType<Backend['list']> {
    return this.measure('list', resource, () => this.bounded(() => this.inner.list(resource, options)));
  }

  override events(after: number, signal: AbortSignal): EventStream {
    return this.counted(this.inner.events(after, signal));
  }

  private async *counted(batches: EventStream): AsyncGenerator<readonly LogEvent[]> {
    for await (const batch of batches) {
      this.tools.metrics.eventsReceived(batch);
      yield batch;
    }
  }

  private bounded<T>(ask: () => Promise<T>): Promise<T> {
    const { outage } = this.tools;
    return outage === undefined ? ask() : outage.within(ask);
  }

  private async measure<T>(operation: Operation, resource: string, work: () => Promise<T>): Promise<T> {
    const { metrics, clock } = this.tools;
    const series = metrics.of(operation, resource);
    const start = clock.monotonic();
    series.total.inc();
    try {
      return await (currentSpan() === undefined ? work() : traced(operation, resource, work));
    } catch (error) {
      series.errors().inc();
      this.tools.troubles.requestFailed(operation, error);
      throw error;
    } finally {
      series.duration.observe((clock.monotonic() - start) / 1000);
    }
  }

  override async currentRevision(): Promise<number> {
    try {
      return await this.bounded(() => this.inner.currentRevision());
    } catch (error) {
      this.tools.troubles.requestFailed('revision', error);
      throw error;
    }
  }
}
