import type { Registry } from 'prom-client';
import { CellCounter, CellHistogram } from '../../util/metrics.js';
import type { MatchConditionsMetrics, MatchConditionsOwner } from './match-conditions.js';

const LABELS = ['name', 'kind', 'type', 'operation'];
const DURATIONS = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
const PREFIX = 'apiserver_admission_match_condition_';

/** The metrics of match conditions, under kube-apiserver's names. To be made once for a registry. */
export class MatchConditionMetrics implements MatchConditionsMetrics {
  private readonly seconds: CellHistogram;
  private readonly errors: CellCounter;
  private readonly exclusions: CellCounter;

  /** `monotonic`: milliseconds. */
  constructor(
    registry: Registry,
    private readonly monotonic: () => number,
  ) {
    const owner = 'by the webhook or policy that has them, its type and the operation';
    this.seconds = new CellHistogram(
      { name: `${PREFIX}evaluation_seconds`, help: `Time that match conditions took, ${owner}.`, labels: LABELS },
      DURATIONS,
      registry,
    );
    this.errors = new CellCounter(
      {
        name: `${PREFIX}evaluation_errors_total`,
        help: `Match conditions that could not be evaluated, ${owner}.`,
        labels: LABELS,
      },
      registry,
    );
    this.exclusions = new CellCounter(
      { name: `${PREFIX}exclusions_total`, help: `Requests that match conditions left out, ${owner}.`, labels: LABELS },
      registry,
    );
  }

  evaluated({ name, kind, type }: MatchConditionsOwner, operation: string, seconds: number): void {
    this.seconds.cell(name, kind, type, operation).observe(seconds);
  }

  failed({ name, kind, type }: MatchConditionsOwner, operation: string): void {
    this.errors.cell(name, kind, type, operation).inc();
  }

  excluded({ name, kind, type }: MatchConditionsOwner, operation: string): void {
    this.exclusions.cell(name, kind, type, operation).inc();
  }

  now(): number {
    return this.monotonic() / 1000;
  }
}
