import type { Environment, Program, Type } from '@annex/cel';

/** An expression of a policy or webhook, compiled once per revision of its object. */
export interface CompiledExpression {
  readonly source: string;
  /** Absent if the expression does not compile. */
  readonly program?: Program;
  /** Why it does not compile, as kube-apiserver says it. */
  readonly error?: string;
  /** The expression is well typed, but cannot be run. */
  readonly internal?: boolean;
  readonly outputType?: Type;
}

/** Compiles an expression whose result is to be of one of the types; without types any will do. */
export function compileExpression(
  environment: Environment,
  source: string,
  results: readonly Type[] | undefined,
): CompiledExpression {
  const { program, failure } = environment.compile(source);
  if (failure !== undefined) return { source, error: `compilation failed: ${failure.text}` };
  const { outputType } = program;
  if (results !== undefined && !results.some((type) => type.equals(outputType))) {
    return { source, error: wrongResult(results, outputType) };
  }
  const problem = program.planError;
  if (problem !== undefined)
    return { source, error: `program instantiation failed: ${problem}`, internal: true, outputType };
  return { source, program, outputType };
}

function wrongResult(results: readonly Type[], got: Type): string {
  const [only] = results;
  const wanted =
    results.length === 1 && only !== undefined
      ? only.declared()
      : `one of [${results.map((type) => type.declared()).join(' ')}]`;
  return `must evaluate to ${wanted} but got ${got.declared()}`;
}
