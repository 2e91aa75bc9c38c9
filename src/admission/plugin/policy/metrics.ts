import type { Registry } from 'prom-client';
import { CounterVec, HistogramVec, metricsRegistry } from '../../../util/metrics/metrics.js';

const BUCKETS = [0.0000005, 0.001, 0.01, 0.1, 1];

/** The values of the label `error_type` for errors of an expression. */
export type PolicyErrorType = 'no_error' | 'compile_error' | 'invalid_error' | 'out_of_budget';

export interface ValidatingPolicyMetrics {
  checked(
    action: 'allow' | 'deny' | 'warn' | 'audit',
    policy: string,
    binding: string,
    error: PolicyErrorType,
    seconds: number,
  ): void;
}

/** Metrics of validating policies, under kube-apiserver's names. Create them once per registry. */
export function validatingPolicyMetrics(registry: Registry = metricsRegistry): ValidatingPolicyMetrics {
  const labels = ['policy', 'policy_binding', 'error_type', 'enforcement_action'];
  const checks = new CounterVec(
    {
      name: 'apiserver_validating_admission_policy_check_total',
      help: 'Validation admission policy check total, labeled by policy and further identified by binding and enforcement action taken.',
      labels,
    },
    registry,
  );
  const durations = new HistogramVec(
    {
      name: 'apiserver_validating_admission_policy_check_duration_seconds',
      help: 'Validation admission latency for individual validation expressions in seconds, labeled by policy and further including binding and enforcement action taken.',
      labels,
    },
    BUCKETS,
    registry,
  );
  return {
    checked: (action, policy, binding, error, seconds) => {
      checks.withLabelValues(policy, binding, error, action).inc();
      durations.withLabelValues(policy, binding, error, action).observe(seconds);
    },
  };
}

/** Classifies an error by its message. */
export function errorTypeOf(message: string): PolicyErrorType {
  if (message.startsWith('compilation')) return 'compile_error';
  if (message.startsWith('validation failed due to running out of cost budget')) return 'out_of_budget';
  return 'invalid_error';
}

export interface MutatingPolicyMetrics {
  checked(policy: string, binding: string, error: PolicyErrorType, seconds: number): void;
}

/** Metrics of mutating policies, under kube-apiserver's names. Create them once per registry. */
export function mutatingPolicyMetrics(registry: Registry = metricsRegistry): MutatingPolicyMetrics {
  const labels = ['policy', 'policy_binding', 'error_type'];
  const checks = new CounterVec(
    {
      name: 'apiserver_mutating_admission_policy_check_total',
      help: 'Mutation admission policy check total, labeled by policy and further identified by binding.',
      labels,
    },
    registry,
  );
  const durations = new HistogramVec(
    {
      name: 'apiserver_mutating_admission_policy_check_duration_seconds',
      help: 'Mutation admission latency for individual mutation expressions in seconds, labeled by policy and binding.',
      labels,
    },
    BUCKETS,
    registry,
  );
  return {
    checked: (policy, binding, error, seconds) => {
      checks.withLabelValues(policy, binding, error).inc();
      durations.withLabelValues(policy, binding, error).observe(seconds);
    },
  };
}
