import type { JsonObject } from '../../apimachinery/json/json.js';
import type { Clock } from '../../util/clock.js';
import type { AuthorizationMetrics } from '../authorizer/instrumentation.js';
import type { AuthorizerAttributes } from '../authorizer/interfaces.js';
import { aggregateTexts } from '../authorizer/results.js';
import { matchRequest } from './review.js';
import { messageOf } from '../../util/error-message.js';

/** Evaluates a boolean expression over `request`, the spec of a v1 SubjectAccessReview. Throws an error that names the expression if that fails. */
export type MatchExpression = (request: JsonObject) => boolean;

/** Compiles an expression; `error` says why it is invalid. */
export type CompileMatchExpression = (expression: string) => MatchExpression | { readonly error: string };

export interface MatchOutcome {
  readonly matches: boolean;
  readonly error?: string;
}

const MATCH: MatchOutcome = { matches: true };
const NO_MATCH: MatchOutcome = { matches: false };

/** The match conditions of one webhook, which is called only if all are true. */
export class MatchConditions {
  constructor(
    private readonly name: string,
    private readonly conditions: readonly MatchExpression[],
    private readonly metrics: AuthorizationMetrics,
    private readonly clock: Clock,
  ) {}

  /** Does not match if any condition is false, even if others fail; returns an error if none is false but one fails. */
  evaluate(attributes: AuthorizerAttributes): MatchOutcome {
    if (this.conditions.length === 0) return MATCH;
    const began = this.clock.monotonic();
    const outcome = this.run(matchRequest(attributes));
    this.metrics.matchConditions(this.name, (this.clock.monotonic() - began) / 1000);
    if (outcome.error !== undefined) this.metrics.matchConditionError(this.name);
    else if (!outcome.matches) this.metrics.matchConditionExclusion(this.name);
    return outcome;
  }

  private run(request: JsonObject): MatchOutcome {
    const errors: string[] = [];
    for (const evaluate of this.conditions) {
      try {
        if (!evaluate(request)) return NO_MATCH;
      } catch (error) {
        errors.push(`cel evaluation error: ${messageOf(error)}`);
      }
    }
    return errors.length === 0 ? MATCH : { matches: false, error: aggregateTexts(errors) };
  }
}
