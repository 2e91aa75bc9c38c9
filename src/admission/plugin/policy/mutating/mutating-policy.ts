import { objectAt, objectsOf, stringAt, textAt } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import { types } from '@annex/cel';
import type { CompiledExpression } from '../../../../expressions/expression.js';
import type { MatchConditions, MatchConditionsMetrics } from '../../../cel/match-conditions.js';
import { OBJECT_TYPE, PATCH_TYPE } from '../../../cel/types.js';
import type { Composition } from '../../../cel/variables.js';
import { commonParts, type CompiledPolicy } from '../hooks.js';
import { StoredPolicyCompiler } from '../policy-compiler.js';

export interface CompiledMutation {
  readonly type: 'ApplyConfiguration' | 'JSONPatch';
  readonly expression: CompiledExpression;
}

/** A MutatingAdmissionPolicy, compiled once per revision. */
export interface MutatingPolicy extends CompiledPolicy {
  readonly composition: Composition;
  readonly conditions: MatchConditions;
  readonly mutations: readonly CompiledMutation[];
  /** True if the policy runs again when a later plugin or policy has changed the object. */
  readonly reinvoked: boolean;
}

export function compileMutatingPolicy(policy: KubeObject, metrics: MatchConditionsMetrics | undefined): MutatingPolicy {
  const common = commonParts(policy);
  const spec = objectAt(policy, 'spec') ?? {};
  const compiler = new StoredPolicyCompiler(spec);
  const optional = { authorizer: true, patchTypes: true };
  // In kube-apiserver's metrics both kinds of policies have the same type.
  const owner = { kind: 'policy', type: 'validate', name: common.name, failurePolicy: common.failurePolicy } as const;
  return {
    ...common,
    composition: compiler.composition,
    conditions: compiler.matchConditions(owner, metrics),
    mutations: objectsOf(spec['mutations']).map((mutation): CompiledMutation => {
      const applies = stringAt(mutation, 'patchType') === 'ApplyConfiguration';
      const source = textAt(objectAt(mutation, applies ? 'applyConfiguration' : 'jsonPatch'), 'expression');
      return applies
        ? { type: 'ApplyConfiguration', expression: compiler.compile(source, [OBJECT_TYPE], optional) }
        : { type: 'JSONPatch', expression: compiler.compile(source, [types.listOf(PATCH_TYPE)], optional) };
    }),
    reinvoked: stringAt(spec, 'reinvocationPolicy') === 'IfNeeded',
  };
}
