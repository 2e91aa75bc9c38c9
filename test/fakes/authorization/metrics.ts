import type { AuthorizationMetrics } from '../../../src/authorization/authorizer/instrumentation.js';

const nothing = (): void => undefined;

/** Metrics that record nothing. */
export const noMetrics: AuthorizationMetrics = {
  decision: nothing,
  webhookEvaluation: nothing,
  webhookFailOpen: nothing,
  matchConditions: nothing,
  matchConditionError: nothing,
  matchConditionExclusion: nothing,
  configReload: nothing,
  configInUse: nothing,
};
