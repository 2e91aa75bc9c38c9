import type { Registry } from 'prom-client';
import { configMetrics, hashLabel } from '../util/files/config-metrics.js';
import { metricsOf } from '../util/metrics/metrics.js';
import type { AuthorizationMetrics } from './authorizer/instrumentation.js';

const PREFIX = 'apiserver_authorization';
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const CONDITION_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];

/** Metrics of authorization, under kube-apiserver's names. Create them once per registry. */
export function authorizationMetrics(serverId: string, registry: Registry): AuthorizationMetrics {
  const decisions = metricsOf(registry).counter(
    `${PREFIX}_decisions_total`,
    'Total number of terminal decisions made by an authorizer split by authorizer type, name, and decision.',
    ['type', 'name', 'decision'],
  );
  const webhooks = webhookMetrics(registry);
  const conditions = conditionMetrics(registry);
  const config = configMetrics('authorization', hashLabel(serverId), registry);
  return {
    ...webhooks,
    ...conditions,
    decision: (type, name, decision) => decisions.withLabelValues(type, name, decision).inc(),
    configReload: config.recordReload,
    configInUse: (text) => config.setActiveHash(hashLabel(text)),
  };
}

function webhookMetrics(registry: Registry): Pick<AuthorizationMetrics, 'webhookEvaluation' | 'webhookFailOpen'> {
  const { counter, histogram } = metricsOf(registry);
  const evaluations = counter(`${PREFIX}_webhook_evaluations_total`, 'Round-trips to authorization webhooks.', [
    'name',
    'result',
  ]);
  const failOpen = counter(
    `${PREFIX}_webhook_evaluations_fail_open_total`,
    'NoOpinion results due to webhook timeout or error.',
    ['name', 'result'],
  );
  const duration = histogram(
    `${PREFIX}_webhook_duration_seconds`,
    'Request latency in seconds.',
    ['name', 'result'],
    DURATION_BUCKETS,
  );
  return {
    webhookEvaluation: (name, outcome, seconds) => {
      evaluations.withLabelValues(name, outcome).inc();
      duration.withLabelValues(name, outcome).observe(seconds);
    },
    webhookFailOpen: (name, outcome) => failOpen.withLabelValues(name, outcome).inc(),
  };
}

function conditionMetrics(
  registry: Registry,
): Pick<AuthorizationMetrics, 'matchConditions' | 'matchConditionError' | 'matchConditionExclusion'> {
  const { counter, histogram } = metricsOf(registry);
  const errors = counter(
    `${PREFIX}_match_condition_evaluation_errors_total`,
    'Total number of errors when an authorization webhook encounters a match condition error split by authorizer type and name.',
    ['type', 'name'],
  );
  const exclusions = counter(
    `${PREFIX}_match_condition_exclusions_total`,
    'Total number of exclusions when an authorization webhook is skipped because match conditions exclude it.',
    ['type', 'name'],
  );
  const seconds = histogram(
    `${PREFIX}_match_condition_evaluation_seconds`,
    'Authorization match condition evaluation time in seconds, split by authorizer type and name.',
    ['type', 'name'],
    CONDITION_BUCKETS,
  );
  return {
    matchConditions: (name, taken) => seconds.withLabelValues('Webhook', name).observe(taken),
    matchConditionError: (name) => errors.withLabelValues('Webhook', name).inc(),
    matchConditionExclusion: (name) => exclusions.withLabelValues('Webhook', name).inc(),
  };
}
