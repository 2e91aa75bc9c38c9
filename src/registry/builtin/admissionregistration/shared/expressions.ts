import { admissionEnvironment, type OptionalVariables } from '../../../../admission/cel/environment.js';
import { compileExpression, type CompiledExpression } from '../../../../expressions/expression.js';
import { Composition } from '../../../../admission/cel/variables.js';
import type { Environment, ExpressionOrigin, Type } from '@annex/cel';
import { type FieldError, type FieldPath, internalError, invalid } from '../../../../apimachinery/meta/field-error.js';

/** Compiles the expressions of a policy that is being written, each in the environment that it may use. */
export class PolicyCompiler {
  private readonly composition: Composition | undefined;
  private readonly environments = new Map<string, Environment>();

  constructor({ composes }: { readonly composes: boolean }) {
    this.composition = composes ? new Composition() : undefined;
  }

  compile(source: string, results: readonly Type[], optional: OptionalVariables, known: boolean): CompiledExpression {
    return compileExpression(this.environment(known ? 'stored' : 'new', optional), source, results);
  }

  addVariable(name: string, source: string, params: boolean, known: boolean): CompiledExpression {
    const environment = this.environment(known ? 'stored' : 'new', { params, authorizer: true });
    return this.composition?.add(environment, name, source) ?? { source, error: 'no variables' };
  }

  private environment(origin: ExpressionOrigin, optional: OptionalVariables): Environment {
    const base = admissionEnvironment(origin, optional);
    if (this.composition === undefined) return base;
    const { params, authorizer, patchTypes = false } = optional;
    const key = `${origin} ${String(params)} ${String(authorizer)} ${String(patchTypes)}`;
    let environment = this.environments.get(key);
    if (environment === undefined) this.environments.set(key, (environment = this.composition.within(base)));
    return environment;
  }
}

/** Returns the error of a field whose expression does not compile. `value` is the bad value in the error. */
export function expressionErrors(
  { source, error, internal }: CompiledExpression,
  path: FieldPath,
  value = source,
): FieldError[] {
  if (error === undefined) return [];
  return [internal === true ? internalError(path, error) : invalid(path, value, error)];
}
