import { type JsonObject, objectAt, objectsOf, textAt } from '../../../apimachinery/json/json.js';
import type { Environment, Type } from '@annex/cel';
import { admissionEnvironment, type OptionalVariables } from '../../cel/environment.js';
import { compileExpression, type CompiledExpression } from '../../../expressions/expression.js';
import {
  compileMatchConditions,
  type MatchConditions,
  type MatchConditionsMetrics,
  type MatchConditionsOwner,
} from '../../cel/match-conditions.js';
import { Composition } from '../../cel/variables.js';

/** Compiles the expressions of a stored policy, which may use every feature. */
export class StoredPolicyCompiler {
  readonly composition = new Composition();
  private readonly params: boolean;
  private readonly environments = new Map<string, Environment>();

  constructor(private readonly spec: JsonObject) {
    this.params = objectAt(spec, 'paramKind') !== undefined;
    const environment = this.environment({ authorizer: true });
    for (const variable of objectsOf(spec['variables'])) {
      this.composition.add(environment, textAt(variable, 'name'), textAt(variable, 'expression'));
    }
  }

  environment(optional: Omit<OptionalVariables, 'params'>): Environment {
    const key = `${String(optional.authorizer)} ${String(optional.patchTypes)}`;
    let environment = this.environments.get(key);
    if (environment === undefined) {
      const base = admissionEnvironment('stored', { ...optional, params: this.params });
      this.environments.set(key, (environment = this.composition.within(base)));
    }
    return environment;
  }

  compile(source: string, results: readonly Type[], optional: Omit<OptionalVariables, 'params'>): CompiledExpression {
    return compileExpression(this.environment(optional), source, results);
  }

  matchConditions(owner: MatchConditionsOwner, metrics: MatchConditionsMetrics | undefined): MatchConditions {
    const environment = this.environment({ authorizer: true });
    return compileMatchConditions(this.spec['matchConditions'], owner, metrics, environment);
  }
}
