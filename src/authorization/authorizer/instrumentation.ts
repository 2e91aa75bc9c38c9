import type { AuthorizationResult, Authorizer, AuthorizerAttributes } from './interfaces.js';
import { type MaybePromise, then } from '../../util/maybe-promise.js';

export type WebhookOutcome = 'success' | 'error' | 'timeout' | 'canceled';

/** The metrics of authorization, under kube-apiserver's names. */
export interface AuthorizationMetrics {
  /** apiserver_authorization_decisions_total. Only allow and deny count as decisions. */
  decision(type: string, name: string, decision: 'allowed' | 'denied'): void;
  /** apiserver_authorization_webhook_evaluations_total and …_duration_seconds. */
  webhookEvaluation(name: string, outcome: WebhookOutcome, seconds: number): void;
  /** apiserver_authorization_webhook_evaluations_fail_open_total. */
  webhookFailOpen(name: string, outcome: WebhookOutcome): void;
  /** apiserver_authorization_match_condition_evaluation_seconds. */
  matchConditions(name: string, seconds: number): void;
  /** apiserver_authorization_match_condition_evaluation_errors_total. */
  matchConditionError(name: string): void;
  /** apiserver_authorization_match_condition_exclusions_total. */
  matchConditionExclusion(name: string): void;
  /** apiserver_authorization_config_controller_automatic_reloads_total and …_reload_last_timestamp_seconds. */
  configReload(status: 'success' | 'failure', at: number): void;
  /** apiserver_authorization_config_controller_last_config_info. `text` is the file's content, of which the hash is published. */
  configInUse(text: string): void;
}

/** Counts the decisions of one authorizer in the chain. */
export class InstrumentedAuthorizer implements Authorizer {
  constructor(
    private readonly type: string,
    private readonly name: string,
    private readonly inner: Authorizer,
    private readonly metrics: AuthorizationMetrics,
  ) {}

  authorize(attributes: AuthorizerAttributes, signal: AbortSignal): MaybePromise<AuthorizationResult> {
    const answer = this.inner.authorize(attributes, signal);
    return then(answer, (result) => this.count(result));
  }

  private count(result: AuthorizationResult): AuthorizationResult {
    if (result.decision === 'allow') this.metrics.decision(this.type, this.name, 'allowed');
    else if (result.decision === 'deny') this.metrics.decision(this.type, this.name, 'denied');
    return result;
  }
}
