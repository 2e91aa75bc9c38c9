import { types } from '@annex/cel';
import { type JsonValue, objectsOf, textAt } from '../../apimachinery/json/json.js';
import { aggregateTexts } from '../../authorization/authorizer/results.js';
import { compileExpression, type CompiledExpression, type Evaluation } from '../../expressions/expression.js';
import { MATCH_CONDITIONS_BUDGET } from '../../expressions/limits.js';
import { Activation, BudgetExceeded, settled, type ActivationInput } from './activation.js';
import { admissionEnvironment } from './environment.js';
import { type MaybePromise, then } from '../../util/maybe-promise.js';

/** The owner of match conditions, for metrics. */
export interface MatchConditionsOwner {
  readonly kind: 'webhook' | 'policy';
  /** `admit`, `validating`, `mutating`, …, as in kube-apiserver's labels. */
  readonly type: string;
  readonly name: string;
  readonly failurePolicy: 'Fail' | 'Ignore';
}

export interface MatchConditionsMetrics {
  /** apiserver_admission_match_condition_evaluation_seconds */
  evaluated(owner: MatchConditionsOwner, operation: string, seconds: number): void;
  /** apiserver_admission_match_condition_evaluation_errors_total */
  failed(owner: MatchConditionsOwner, operation: string): void;
  /** apiserver_admission_match_condition_exclusions_total */
  excluded(owner: MatchConditionsOwner, operation: string): void;
  /** Returns the seconds of a monotonic clock. */
  now(): number;
}

export type MatchResult =
  | { readonly matches: true }
  /** `condition`: the first one that is false; absent if failurePolicy Ignore decided. */
  | { readonly matches: false; readonly condition?: string; readonly error?: undefined }
  /** Conditions could not be evaluated and the failure policy is Fail. */
  | { readonly matches: false; readonly error: string };

const MATCHES: MatchResult = { matches: true };

interface CompiledCondition {
  readonly name: string;
  readonly expression: CompiledExpression;
}

/** The compiled match conditions of a webhook or policy. */
export class MatchConditions {
  constructor(
    private readonly conditions: readonly CompiledCondition[],
    private readonly owner: MatchConditionsOwner,
    private readonly metrics: MatchConditionsMetrics | undefined,
  ) {}

  get empty(): boolean {
    return this.conditions.length === 0;
  }

  /** Evaluates all conditions, even after one that is false. */
  match(input: ActivationInput, operation: string): MaybePromise<MatchResult> {
    if (this.empty) return MATCHES;
    const started = this.metrics?.now() ?? 0;
    const done = (results: readonly Evaluation[] | string): MatchResult => {
      const result = typeof results === 'string' ? this.failure(results) : this.judge(results, operation);
      if (!result.matches) this.metrics?.evaluated(this.owner, operation, this.metrics.now() - started);
      return result;
    };
    const results = settled(() => this.evaluate(input));
    return then(results, done);
  }

  /** Records that the request is excluded because a condition is false. */
  recordExclusion(operation: string): void {
    this.metrics?.excluded(this.owner, operation);
  }

  /** Returns a string if the budget is exceeded. As in kube-apiserver, `namespaceObject` is null. */
  private evaluate(input: ActivationInput): readonly Evaluation[] | string {
    const activation = new Activation({ ...input, namespace: undefined }, MATCH_CONDITIONS_BUDGET);
    try {
      return this.conditions.map(({ expression }) => activation.evaluate(expression));
    } catch (error) {
      if (error instanceof BudgetExceeded) return error.message;
      throw error;
    }
  }

  private judge(results: readonly Evaluation[], operation: string): MatchResult {
    const errors: string[] = [];
    for (const [i, { value, error }] of results.entries()) {
      if (error !== undefined) {
        errors.push(error);
        this.metrics?.failed(this.owner, operation);
      } else if (value === false) {
        return { matches: false, condition: this.conditions[i]?.name ?? '' };
      }
    }
    return errors.length === 0 ? MATCHES : this.failure(aggregateTexts(errors));
  }

  private failure(error: string): MatchResult {
    return this.owner.failurePolicy === 'Fail' ? { matches: false, error } : { matches: false };
  }
}

/** Compiles match conditions that have been accepted. Those of policies use the environment of the policy's other expressions. */
export function compileMatchConditions(
  conditions: JsonValue | undefined,
  owner: MatchConditionsOwner,
  metrics?: MatchConditionsMetrics,
  environment = admissionEnvironment('stored', { params: false, authorizer: true }),
): MatchConditions {
  const compiled = objectsOf(conditions).map((condition) => ({
    name: textAt(condition, 'name'),
    expression: compileExpression(environment, textAt(condition, 'expression'), [types.BOOL]),
  }));
  return new MatchConditions(compiled, owner, metrics);
}
