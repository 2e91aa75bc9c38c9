import { objectAt, objectsOf, stringAt, textAt } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import { types } from '@annex/cel';
import type { CompiledExpression } from '../../../../expressions/expression.js';
import type { MatchConditions, MatchConditionsMetrics } from '../../../cel/match-conditions.js';
import type { Composition } from '../../../cel/variables.js';
import { commonParts, type CompiledPolicy } from '../hooks.js';
import { StoredPolicyCompiler } from '../policy-compiler.js';

const { BOOL, STRING, NULL } = types;

export interface CompiledValidation {
  readonly expression: CompiledExpression;
  readonly message: string;
  readonly messageExpression: CompiledExpression | undefined;
  readonly reason: string;
}

export interface CompiledAnnotation {
  readonly key: string;
  readonly value: CompiledExpression;
}

/** A ValidatingAdmissionPolicy, compiled once per revision. */
export interface ValidatingPolicy extends CompiledPolicy {
  readonly composition: Composition;
  readonly conditions: MatchConditions;
  readonly validations: readonly CompiledValidation[];
  readonly annotations: readonly CompiledAnnotation[];
}

export function compileValidatingPolicy(
  policy: KubeObject,
  metrics: MatchConditionsMetrics | undefined,
): ValidatingPolicy {
  const common = commonParts(policy);
  const spec = objectAt(policy, 'spec') ?? {};
  const compiler = new StoredPolicyCompiler(spec);
  const owner = { kind: 'policy', type: 'validate', name: common.name, failurePolicy: common.failurePolicy } as const;
  return {
    ...common,
    composition: compiler.composition,
    conditions: compiler.matchConditions(owner, metrics),
    validations: objectsOf(spec['validations']).map((validation) => {
      const messageExpression = textAt(validation, 'messageExpression');
      return {
        expression: compiler.compile(textAt(validation, 'expression'), [BOOL], { authorizer: true }),
        message: textAt(validation, 'message'),
        messageExpression:
          messageExpression === '' ? undefined : compiler.compile(messageExpression, [STRING], { authorizer: false }),
        reason: stringAt(validation, 'reason') ?? 'Invalid',
      };
    }),
    annotations: objectsOf(spec['auditAnnotations']).map((annotation) => ({
      key: textAt(annotation, 'key'),
      value: compiler.compile(textAt(annotation, 'valueExpression'), [STRING, NULL], { authorizer: true }),
    })),
  };
}
