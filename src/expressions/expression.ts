import type { Bindings, Environment, Program, Type, Value } from '@annex/cel';
import { PER_CALL_LIMIT } from './limits.js';

/** An expression, compiled once per revision of the object that contains it. */
export interface CompiledExpression {
  readonly source: string;
  /** Absent if the expression does not compile. */
  readonly program?: Program;
  /** The compilation error, in kube-apiserver's words; those of syntax and types have the line and the column. */
  readonly error?: string;
  /** True if the expression type-checks but no program can be created from it. */
  readonly internal?: boolean;
  /** The expression after type checking, present even if its result has the wrong type or it cannot run. */
  readonly checked?: Program;
}

/** Compiles an expression whose result must have one of the types; undefined allows any type. */
export function compileExpression(
  environment: Environment,
  source: string,
  results?: readonly Type[],
): CompiledExpression {
  const { program, failure } = environment.compile(source);
  if (failure !== undefined) return { source, error: `compilation failed: ${failure.text}` };
  const { outputType } = program;
  if (results !== undefined && !results.some((type) => type.equals(outputType))) {
    return { source, error: wrongResult(results, outputType), checked: program };
  }
  const problem = program.planError;
  if (problem !== undefined)
    return { source, error: `program instantiation failed: ${problem}`, internal: true, checked: program };
  return { source, program, checked: program };
}

function wrongResult(results: readonly Type[], got: Type): string {
  const [only] = results;
  const wanted =
    results.length === 1 && only !== undefined
      ? only.declared()
      : `one of [${results.map((type) => type.declared()).join(' ')}]`;
  return `must evaluate to ${wanted} but got ${got.declared()}`;
}

/** The result of one evaluation, and its cost. */
export type Evaluation =
  | { readonly value: Value; readonly error?: undefined; readonly cost: number }
  | { readonly value?: undefined; readonly error: string; readonly cost: number };

/** Evaluates an expression within the cost limit of one call. Throws AnswerPending while a decision of an authorizer is outstanding. */
export function evaluateExpression({ program, error, source }: CompiledExpression, bindings: Bindings): Evaluation {
  if (program === undefined) return { error: `compilation error: ${error ?? ''}`, cost: 0 };
  const outcome = program.evaluate(bindings, PER_CALL_LIMIT);
  const { cost } = outcome;
  if (outcome.kind === 'value') return { value: outcome.value, cost };
  return { error: `expression '${source}' resulted in error: ${outcome.message}`, cost };
}
