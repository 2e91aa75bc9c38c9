import type { Registry } from 'prom-client';
import type { Clock } from '../../util/clock.js';
import { CounterVec, HistogramVec, metricsRegistry } from '../../util/metrics/metrics.js';
import type { MatchConditionsMetrics, MatchConditionsOwner } from './match-conditions.js';

const PREFIX = 'apiserver_admission_match_condition';
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
const LABELS = ['name', 'kind', 'type', 'operation'];
const IDENTIFIED =
  'identified by name of resource containing the match condition and broken out for each kind containing matchConditions (webhook or policy), operation and admission type (validate or admit).';

/** Metrics of match conditions, under kube-apiserver's names. Create them once per registry. */
export function matchConditionsMetrics(clock: Clock, registry: Registry = metricsRegistry): MatchConditionsMetrics {
  const counter = (name: string, what: string): CounterVec =>
    new CounterVec(
      {
        name: `${PREFIX}_${name}`,
        help: `Admission match condition evaluation ${what} count, ${IDENTIFIED}`,
        labels: LABELS,
      },
      registry,
    );
  const errors = counter('evaluation_errors_total', 'errors');
  const exclusions = counter('exclusions_total', 'exclusions');
  const seconds = new HistogramVec(
    {
      name: `${PREFIX}_evaluation_seconds`,
      help: 'Admission match condition evaluation time in seconds, identified by name and broken out for each kind containing matchConditions (webhook or policy), operation and type (validate or admit).',
      labels: LABELS,
    },
    BUCKETS,
    registry,
  );
  const labels = ({ name, kind, type }: MatchConditionsOwner, operation: string): string[] => [
    name,
    kind,
    type,
    operation,
  ];
  return {
    evaluated: (owner, operation, time) => seconds.withLabelValues(...labels(owner, operation)).observe(time),
    failed: (owner, operation) => errors.withLabelValues(...labels(owner, operation)).inc(),
    excluded: (owner, operation) => exclusions.withLabelValues(...labels(owner, operation)).inc(),
    now: () => clock.monotonic() / 1000,
  };
}
