import { Summary, type Registry } from 'prom-client';
import { metricLifecycles } from '../util/metrics/metric-lifecycle.js';
import { HistogramVec, type HistogramSeries } from '../util/metrics/metrics.js';
import type { AdmissionOperation } from './interfaces.js';

/** Mutating plugins admit, all others validate. */
export type StepType = 'admit' | 'validate';

const DURATIONS = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
const STEP = 'apiserver_admission_step_admission_duration_seconds';
const STEP_LABELS = ['type', 'operation', 'rejected'];
const MILLIS = 1000;

/** The durations of one step or of one plugin in it. The series are looked up only once. */
export class StepTimes {
  private readonly cells: Partial<
    Record<AdmissionOperation, readonly [passed: HistogramSeries, rejected: HistogramSeries]>
  > = {};

  constructor(
    private readonly histogram: HistogramVec,
    private readonly labels: readonly string[],
  ) {}

  observe(operation: AdmissionOperation, rejected: boolean, millis: number): void {
    const [passed, refused] = (this.cells[operation] ??= [this.cell(operation, false), this.cell(operation, true)]);
    (rejected ? refused : passed).observe(millis / MILLIS);
  }

  private cell(operation: AdmissionOperation, rejected: boolean): HistogramSeries {
    return this.histogram.withLabelValues(...this.labels, operation, String(rejected));
  }
}

/** Exposes the sums and counts of a histogram under another name. */
class SummaryOf extends Summary {
  private readonly names: { readonly sum: string; readonly count: string };

  constructor(
    name: string,
    help: string,
    private readonly histogram: HistogramVec,
    registry: Registry,
  ) {
    super({
      name,
      help: metricLifecycles.register(name, help),
      labelNames: STEP_LABELS,
      percentiles: [],
      registers: [registry],
    });
    this.names = { sum: `${name}_sum`, count: `${name}_count` };
  }

  override async get(): ReturnType<Summary['get']> {
    const empty = await super.get();
    const { values } = await this.histogram.get();
    const named = values.flatMap(({ labels, value, metricName = '' }) => {
      const part = metricName.endsWith('_sum') ? 'sum' : metricName.endsWith('_count') ? 'count' : undefined;
      return part === undefined ? [] : [{ labels, value, metricName: this.names[part] }];
    });
    return { ...empty, values: named };
  }
}

/** Durations of admission, under kube-apiserver's names. Create it once per registry. */
export class AdmissionMetrics {
  private readonly steps: HistogramVec;
  private readonly plugins: HistogramVec;

  /** `monotonic` returns milliseconds. */
  constructor(
    registry: Registry,
    readonly monotonic: () => number,
  ) {
    const help = 'in seconds, broken out for each operation and API resource and step type (validate or admit).';
    this.steps = new HistogramVec(
      { name: STEP, help: `Admission sub-step latency histogram ${help}`, labels: STEP_LABELS },
      DURATIONS,
      registry,
    );
    new SummaryOf(`${STEP}_summary`, `Admission sub-step latency summary ${help}`, this.steps, registry);
    this.plugins = new HistogramVec(
      {
        name: 'apiserver_admission_controller_admission_duration_seconds',
        help: 'Admission controller latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).',
        labels: ['name', ...STEP_LABELS],
      },
      DURATIONS,
      registry,
    );
  }

  step(type: StepType): StepTimes {
    return new StepTimes(this.steps, [type]);
  }

  plugin(name: string, type: StepType): StepTimes {
    return new StepTimes(this.plugins, [name, type]);
  }
}
