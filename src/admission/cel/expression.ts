import type { Environment, Program, Type } from '@annex/cel';

/** An expression of a policy or webhook, compiled once per revision of its object. */
export interface CompiledExpression {
  readonly source: string;
  /** Absent if the expression does not compile. */
  readonly program?: Program;
  /** The compilation error, in kube-apiserver's words. */
  readonly error?: string;
  /** True if the expression type-checks but no program can be created from it. */
  readonly internal?: boolean;
  readonly outputType?: Type;
}

/** Compiles an expression whose result must have one of the types; undefined allows any type. */
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
