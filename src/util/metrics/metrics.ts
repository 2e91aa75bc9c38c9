import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { metricLifecycles } from './metric-lifecycle.js';

/** All metrics of the process, in the Prometheus text format. */
export const metricsRegistry = new Registry();

export interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

type Labels = Readonly<Record<string, string>>;

/** One series of a counter or gauge. Code that updates it often holds on to it, so that an update is a mere addition. */
export class MetricSeries {
  value = 0;
  constructor(readonly labels: Record<string, string>) {}

  inc(by = 1): void {
    this.value += by;
  }

  dec(by = 1): void {
    this.value -= by;
  }
}

/** Most metrics have one label. Joining a single value would copy it. */
const keyOf = (values: readonly string[]): string => (values.length === 1 ? (values[0] as string) : values.join('\0'));

/** Series by their label values, in the order of the metric's label names. */
class SeriesMap<T extends { readonly labels: Labels }> {
  private readonly byKey = new Map<string, T>();
  constructor(
    private readonly metric: MetricOptions,
    private readonly make: (labels: Record<string, string>) => T,
  ) {}

  at(given: readonly string[]): T {
    const { name: metric, labels: names } = this.metric;
    const values = metricLifecycles.constrain(metric, names, given);
    const key = keyOf(values);
    let one = this.byKey.get(key);
    if (one === undefined) {
      one = this.make(Object.fromEntries(names.map((name, i) => [name, values[i] ?? ''])));
      this.byKey.set(key, one);
    }
    return one;
  }

  delete(values: readonly string[]): void {
    this.byKey.delete(keyOf(values));
  }

  deleteWhere(matches: (labels: Labels) => boolean): void {
    for (const [key, { labels }] of this.byKey) if (matches(labels)) this.byKey.delete(key);
  }

  all(): Iterable<T> {
    return this.byKey.values();
  }

  clear(): void {
    this.byKey.clear();
  }
}

const configuration = (options: MetricOptions, registry: Registry) => ({
  name: options.name,
  help: metricLifecycles.register(options.name, options.help),
  labelNames: [...options.labels],
  registers: [registry],
});

/** A counter whose series are looked up once. prom-client hashes the labels on every update. */
export class CounterVec extends Counter {
  private readonly seriesMap: SeriesMap<MetricSeries>;

  /** `refresh` is called before every scrape and sets values that are counted elsewhere. */
  constructor(
    options: MetricOptions,
    registry: Registry = metricsRegistry,
    private readonly refresh?: (counter: CounterVec) => void,
  ) {
    super(configuration(options, registry));
    this.seriesMap = new SeriesMap(options, (labels) => new MetricSeries(labels));
  }

  /** Returns the series with these label values, given in the order of the label names. */
  withLabelValues(...values: string[]): MetricSeries {
    return this.seriesMap.at(values);
  }

  dropWhere(matches: (labels: Labels) => boolean): void {
    this.seriesMap.deleteWhere(matches);
  }

  override async get(): ReturnType<Counter['get']> {
    this.refresh?.(this);
    const empty = await super.get();
    return { ...empty, values: [...this.seriesMap.all()].map(({ labels, value }) => ({ labels, value })) };
  }

  /** Resets the series in place, because other code holds on to them. */
  override reset(): void {
    super.reset();
    // The base constructor calls this too, before `seriesMap` is set.
    for (const one of (this.seriesMap as SeriesMap<MetricSeries> | undefined)?.all() ?? []) one.value = 0;
  }
}

/** A gauge whose series are looked up once. */
export class GaugeVec extends Gauge {
  private readonly seriesMap: SeriesMap<MetricSeries>;

  /** `refresh` is called before every scrape and sets values that are not kept up to date in between. It may return a promise. */
  constructor(
    options: MetricOptions,
    registry: Registry = metricsRegistry,
    private readonly refresh?: (gauge: GaugeVec) => unknown,
  ) {
    super(configuration(options, registry));
    this.seriesMap = new SeriesMap(options, (labels) => new MetricSeries(labels));
  }

  withLabelValues(...values: string[]): MetricSeries {
    return this.seriesMap.at(values);
  }

  /** Removes a series. */
  deleteLabelValues(...values: string[]): void {
    this.seriesMap.delete(values);
  }

  dropWhere(matches: (labels: Labels) => boolean): void {
    this.seriesMap.deleteWhere(matches);
  }

  override async get(): ReturnType<Gauge['get']> {
    await this.refresh?.(this);
    const empty = await super.get();
    return { ...empty, values: [...this.seriesMap.all()].map(({ labels, value }) => ({ labels, value })) };
  }

  override reset(): void {
    super.reset();
    (this.seriesMap as SeriesMap<MetricSeries> | undefined)?.clear();
  }
}

/** The trace of an observed request, with the label names of OpenMetrics. */
interface Exemplar {
  readonly labelSet: { readonly trace_id: string; readonly span_id: string };
  readonly value: number;
  /** Seconds since the epoch. */
  readonly timestamp: number;
}

/** One series of a histogram. */
export class HistogramSeries {
  sum = 0;
  count = 0;
  /** The count of each bucket, not cumulative. The last bucket is for values above all bounds. */
  readonly counts: Float64Array;

  constructor(
    readonly labels: Record<string, string>,
    private readonly bounds: readonly number[],
  ) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** The latest exemplar of each bucket. Undefined if no observation belonged to a trace. */
  exemplars: (Exemplar | undefined)[] | undefined;

  private bucketOf(value: number): number {
    const { bounds } = this;
    let i = 0;
    while (i < bounds.length && value > (bounds[i] ?? Infinity)) i++;
    return i;
  }

  /** Records the trace of an observation, which was counted before, as the exemplar of its bucket. */
  keepExemplar(value: number, traceId: string, spanId: string, at: number): void {
    this.exemplars ??= [];
    const labelSet = { trace_id: traceId, span_id: spanId };
    this.exemplars[this.bucketOf(value)] = { labelSet, value, timestamp: at / 1000 };
  }

  /** Records `times` observations of the same value. */
  observe(value: number, times = 1): void {
    const { counts } = this;
    const i = this.bucketOf(value);
    counts[i] = (counts[i] ?? 0) + times;
    this.sum += value * times;
    this.count += times;
  }

  reset(): void {
    this.sum = 0;
    this.count = 0;
    this.counts.fill(0);
    this.exemplars = undefined;
  }
}

/** A histogram whose series are looked up once. */
export class HistogramVec extends Histogram {
  private readonly seriesMap: SeriesMap<HistogramSeries>;
  /** Provides name, help and type. The `get` of the base class cannot be used, because it would call this class again. */
  private readonly blank: Histogram;

  constructor(
    private readonly options: MetricOptions,
    private readonly bounds: readonly number[],
    registry: Registry = metricsRegistry,
  ) {
    super({ ...configuration(options, registry), buckets: [...bounds] });
    this.seriesMap = new SeriesMap(options, (labels) => new HistogramSeries(labels, bounds));
    this.blank = new Histogram({ ...configuration(options, registry), labelNames: [], registers: [] });
  }

  withLabelValues(...values: string[]): HistogramSeries {
    return this.seriesMap.at(values);
  }

  dropWhere(matches: (labels: Labels) => boolean): void {
    this.seriesMap.deleteWhere(matches);
  }

  override async get(): ReturnType<Histogram['get']> {
    const empty = await this.blank.get();
    return { ...empty, values: [...this.seriesMap.all()].flatMap((one) => this.series(one)) };
  }

  /** Called by the registry, which prefers this method over `get`. */
  getForPromString(): ReturnType<Histogram['get']> {
    return this.get();
  }

  private series(one: HistogramSeries) {
    const { name } = this.options;
    let cumulative = 0;
    const buckets = [...one.counts].map((count, i) => {
      cumulative += count;
      const le: string | number = this.bounds[i] ?? '+Inf';
      const exemplar = one.exemplars?.[i] ?? null;
      return { labels: { ...one.labels, le }, value: cumulative, metricName: `${name}_bucket`, exemplar };
    });
    return [
      ...buckets,
      { labels: one.labels, value: one.sum, metricName: `${name}_sum`, exemplar: null },
      { labels: one.labels, value: one.count, metricName: `${name}_count`, exemplar: null },
    ];
  }

  override reset(): void {
    super.reset();
    for (const one of (this.seriesMap as SeriesMap<HistogramSeries> | undefined)?.all() ?? []) one.reset();
  }
}

/** Registers the metrics about metrics, with the names that they have in Kubernetes components. */
export function registerMetricCounts(registry: Registry): void {
  const { counter, counterFunc } = metricsOf(registry);
  counterFunc(
    'hidden_metrics_total',
    'Number of metrics hidden because they are deprecated.',
    () => metricLifecycles.counts().hidden,
  );
  counterFunc(
    'disabled_metrics_total',
    'Number of metrics disabled with --disabled-metrics.',
    () => metricLifecycles.counts().disabled,
  );
  counterFunc(
    'cardinality_enforcement_unexpected_categorizations_total',
    'Number of label values rejected by --allow-metric-labels.',
    () => metricLifecycles.counts().unexpected,
  );
  const labels = ['stability_level', 'deprecated_version'];
  const help = 'Number of registered metrics by stability level and the version that deprecated them.';
  counter('registered_metrics_total', help, labels, (metric) => {
    for (const [stability, deprecated, count] of metricLifecycles.byStability())
      metric.withLabelValues(stability, deprecated).value = count;
  });
}

/** Merges registries into one, without the metrics that are hidden or disabled. */
export function exposedMetrics(registries: readonly Registry[]): Registry {
  const all = Registry.merge([...registries]);
  for (const { name } of all.getMetricsAsArray()) if (metricLifecycles.isWithheld(name)) all.removeSingleMetric(name);
  return all;
}

let drops = 0;

/** Removes series from all metrics of the registries. Code that holds on to series must look them up again (SeriesLookup). */
export function dropSeries(registries: readonly Registry[], matches: (labels: Labels) => boolean): void {
  drops++;
  for (const registry of registries) {
    for (const { name } of registry.getMetricsAsArray()) {
      const held: unknown = registry.getSingleMetric(name);
      if (held instanceof CounterVec || held instanceof GaugeVec || held instanceof HistogramVec)
        held.dropWhere(matches);
    }
  }
}

/** A cache of series that are updated often. It is cleared whenever series are dropped. */
export class SeriesLookup<T> {
  private readonly byKey = new Map<string, T>();
  private seen = drops;

  constructor(private readonly max = Infinity) {}

  get(key: string): T | undefined {
    if (this.seen !== drops) {
      this.seen = drops;
      this.byKey.clear();
    }
    return this.byKey.get(key);
  }

  /** Adds a series. A full cache is cleared first. */
  set(key: string, series: T): void {
    if (this.byKey.size >= this.max) this.byKey.clear();
    this.byKey.set(key, series);
  }
}

/** Resets counters and histograms to zero. Gauges describe the current state, and the process's own counters cannot be reset. */
export function resetCounts(registry: Registry): void {
  for (const metric of registry.getMetricsAsArray()) {
    const held: unknown = registry.getSingleMetric(metric.name);
    if (held instanceof CounterVec || held instanceof HistogramVec) held.reset();
  }
}

/** Returns functions that create metrics in a registry; by default, in that of the process. */
export const metricsOf = (registry: Registry = metricsRegistry) => ({
  counter: (name: string, help: string, labels: readonly string[] = [], refresh?: (counter: CounterVec) => void) =>
    new CounterVec({ name, help, labels }, registry, refresh),
  gauge: (name: string, help: string, labels: readonly string[] = [], refresh?: (gauge: GaugeVec) => unknown) =>
    new GaugeVec({ name, help, labels }, registry, refresh),
  histogram: (name: string, help: string, labels: readonly string[], bounds: readonly number[]) =>
    new HistogramVec({ name, help, labels }, bounds, registry),
  /** A counter without labels, which is read at each scrape. */
  counterFunc: (name: string, help: string, value: () => number): void => {
    new CounterVec({ name, help, labels: [] }, registry, (counter) => (counter.withLabelValues().value = value()));
  },
  /** A gauge without labels, which is read at each scrape. If its value is undefined, it keeps the last one. */
  gaugeFunc: (name: string, help: string, value: () => number | undefined): void => {
    new GaugeVec({ name, help, labels: [] }, registry, (gauge) => {
      const now = value();
      if (now !== undefined) gauge.withLabelValues().value = now;
    });
  },
});
