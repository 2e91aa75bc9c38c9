import { trimSpace } from '../../../../util/text/trim-space.js';
import { Activation, BudgetExceeded, type ActivationInput } from '../../../cel/activation.js';
import type { Evaluation } from '../../../../expressions/expression.js';
import { PER_CALL_LIMIT, RUNTIME_BUDGET } from '../../../../expressions/limits.js';
import type { CompiledAnnotation, CompiledValidation, ValidatingPolicy } from './validating-policy.js';

const MAX_MESSAGE_BYTES = 5 * 1024;

/** The result of one validation. */
export interface Decision {
  readonly action: 'admit' | 'deny';
  /** `error`: the expression could not be evaluated, and the failure policy decided the action. */
  readonly evaluation: 'admit' | 'deny' | 'error';
  readonly message: string;
  readonly reason: string;
  readonly seconds: number;
}

/** The result of one audit annotation. `error`: it could not be evaluated, and the failure policy is Fail. */
type AnnotationResult =
  | { readonly key: string; readonly value: string; readonly error?: undefined }
  | { readonly error: string; readonly seconds: number };

export interface ValidationResult {
  readonly decisions: readonly Decision[];
  readonly annotations: readonly AnnotationResult[];
}

const ADMITTED: Omit<Decision, 'seconds'> = { action: 'admit', evaluation: 'admit', message: '', reason: '' };

/** Returns the seconds of a monotonic clock. */
export type Seconds = () => number;

interface TimedEvaluation {
  readonly evaluation: Evaluation;
  readonly seconds: number;
}

/** Evaluates the validations and audit annotations of a policy whose match conditions hold. Throws AnswerPending. */
export function evaluateValidations(policy: ValidatingPolicy, input: ActivationInput, now: Seconds): ValidationResult {
  try {
    const decisions = decide(policy, input, now);
    return { decisions, annotations: annotate(policy, input, now) };
  } catch (error) {
    if (error instanceof BudgetExceeded) return { decisions: [failed(policy, error.message, 0)], annotations: [] };
    throw error;
  }
}

/** Returns the only decision of a policy that cannot be evaluated. */
export const failed = ({ failurePolicy }: ValidatingPolicy, message: string, seconds: number): Decision => ({
  action: failurePolicy === 'Ignore' ? 'admit' : 'deny',
  evaluation: 'error',
  message,
  reason: '',
  seconds,
});

function decide(policy: ValidatingPolicy, input: ActivationInput, now: Seconds): readonly Decision[] {
  const { validations } = policy;
  const activation = new Activation(input, RUNTIME_BUDGET);
  const results = validations.map(({ expression }): TimedEvaluation => {
    const started = now();
    const evaluation = activation.evaluate(expression);
    return { evaluation, seconds: now() - started };
  });
  const messages = new Messages(policy, input, activation.budget);
  const isWanted = results.map(({ evaluation }) => evaluation.error === undefined && evaluation.value !== true);
  messages.evaluate(isWanted);
  return results.map(({ evaluation, seconds }, i): Decision => {
    if (evaluation.error !== undefined) return failed(policy, evaluation.error, seconds);
    if (messages.failure !== undefined) {
      return failed(policy, `failed messageExpression: ${messages.failure}`, seconds);
    }
    if (evaluation.value === true) return { ...ADMITTED, seconds };
    const validation = validations[i] as CompiledValidation;
    const message = messageOf(validation, messages.texts[i]);
    return { action: 'deny', evaluation: 'deny', message, reason: validation.reason, seconds };
  });
}

/** Returns the message of the messageExpression, else the static message, else the expression itself. */
function messageOf({ message, expression }: CompiledValidation, evaluated: string | undefined): string {
  if (evaluated !== undefined) {
    const text = trimSpace(evaluated);
    if (text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= MAX_MESSAGE_BYTES) return text;
  }
  const plain = trimSpace(message);
  return plain === '' ? `failed expression: ${trimSpace(expression.source)}` : plain;
}

/**
 * The messages of a policy's validations. kube-apiserver evaluates all of them for every request, and their cost can
 * fail the request. If they cannot exceed the budget, only the messages that are needed are evaluated here.
 */
class Messages {
  readonly texts: (string | undefined)[] = [];
  /** The reason why there are no messages, and therefore no decisions. */
  failure: string | undefined;

  constructor(
    private readonly policy: ValidatingPolicy,
    private readonly input: ActivationInput,
    private readonly budget: number,
  ) {}

  evaluate(isWanted: readonly boolean[]): void {
    const { validations, composition } = this.policy;
    const expressions = validations.map(({ messageExpression }) => messageExpression);
    const count = expressions.filter((expression) => expression !== undefined).length;
    if (count === 0) return;
    const mayExceed = (count + composition.size) * PER_CALL_LIMIT > this.budget;
    if (!mayExceed && !isWanted.includes(true)) return;
    // Message expressions have no authorizer.
    const activation = new Activation({ ...this.input, authorizer: undefined }, this.budget);
    try {
      expressions.forEach((expression, i) => {
        if (expression === undefined || (!mayExceed && isWanted[i] !== true)) return;
        const { value } = activation.evaluate(expression);
        this.texts[i] = typeof value === 'string' ? value : undefined;
      });
    } catch (error) {
      if (!(error instanceof BudgetExceeded)) throw error;
      this.failure = error.message;
    }
  }
}

function annotate(policy: ValidatingPolicy, input: ActivationInput, now: Seconds): readonly AnnotationResult[] {
  if (policy.annotations.length === 0) return [];
  // As in kube-apiserver, which declares an authorizer for them at compilation but provides none at evaluation.
  const activation = new Activation({ ...input, authorizer: undefined }, RUNTIME_BUDGET);
  const results: AnnotationResult[] = [];
  for (const annotation of policy.annotations) {
    const result = annotationResult(policy, annotation, activation, now);
    if (result !== undefined) results.push(result);
  }
  return results;
}

function annotationResult(
  { failurePolicy }: ValidatingPolicy,
  { key, value }: CompiledAnnotation,
  activation: Activation,
  now: Seconds,
): AnnotationResult | undefined {
  const started = now();
  const evaluation = activation.evaluate(value);
  if (evaluation.error !== undefined) {
    return failurePolicy === 'Ignore' ? undefined : { error: evaluation.error, seconds: now() - started };
  }
  const text = typeof evaluation.value === 'string' ? trimSpace(evaluation.value) : '';
  return text === '' ? undefined : { key, value: text };
}
