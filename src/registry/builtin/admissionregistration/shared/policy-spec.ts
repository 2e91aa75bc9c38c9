import type { MatchResources } from '../../../../apimachinery/generated/admissionregistration.js';
import type { Policy, PolicySpec } from './type.js';
import { type FieldError, type FieldPath, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import { deepEqual } from '../../../../apimachinery/json/json.js';
import { trimSpace } from '../../../../util/text/trim-space.js';
import { itemErrors, requiredChoice } from '../../shared/checks.js';
import { conditionExpressions, validateMatchConditions } from './match-conditions.js';
import { expressionErrors, type PolicyCompiler } from './expressions.js';
import { defaultMatchResources, validateMatchResources } from './match-resources.js';
import { validateParamKind } from './param-ref.js';

const FAILURE_POLICIES = ['Fail', 'Ignore'];

/** Sets the defaults of a policy of either kind. */
export function defaultPolicy(policy: Policy): void {
  const spec = policy.spec;
  if (spec === undefined) return;
  spec.failurePolicy ??= 'Fail';
  defaultMatchResources(spec.matchConstraints);
}

/** The options for validating what both kinds of policies have in common. */
export interface SpecOptions {
  /** The previous spec; undefined for a create. */
  readonly old: PolicySpec | undefined;
  /** Returns the additional errors of a kind of policy about matchConstraints. */
  readonly constraints?: (match: MatchResources, path: FieldPath) => FieldError[];
}

/** Validates the failure policy, the params, the match constraints and the match conditions. */
export function validateCommonSpec(spec: PolicySpec, path: FieldPath, { old, constraints }: SpecOptions): FieldError[] {
  const errors = requiredChoice(spec.failurePolicy, path.child('failurePolicy'), FAILURE_POLICIES);
  const paramKind = spec.paramKind;
  errors.push(...validateParamKind(paramKind, path.child('paramKind')));
  const match = spec.matchConstraints;
  const at = path.child('matchConstraints');
  if (match === undefined) errors.push(required(at));
  else {
    errors.push(...validateMatchResources(match, at));
    if ((match.resourceRules ?? []).length === 0) errors.push(required(at.child('resourceRules')));
    errors.push(...(constraints?.(match, at) ?? []));
  }
  if (old === undefined || !sameConditions(spec, old)) {
    const known = new Set(conditionExpressions(old?.matchConditions));
    const options = { params: paramKind !== undefined, known };
    errors.push(...validateMatchConditions(spec.matchConditions, path.child('matchConditions'), options));
  }
  return errors;
}

/** Reports whether nothing has changed that could make valid match conditions invalid. */
function sameConditions(spec: PolicySpec, old: PolicySpec): boolean {
  return (
    deepEqual(spec.paramKind ?? null, old.paramKind ?? null) &&
    deepEqual(spec.matchConditions ?? [], old.matchConditions ?? [])
  );
}

const IDENTIFIER = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** Validates the variables. `known` are the expressions of validations that the policy had before. */
export function validateVariables(
  spec: PolicySpec,
  path: FieldPath,
  compiler: PolicyCompiler,
  known: ReadonlySet<string>,
): FieldError[] {
  const params = spec.paramKind !== undefined;
  return itemErrors(spec, 'variables', path, (variable, at) => {
    const errors: FieldError[] = [];
    const name = variable.name ?? '';
    const expression = variable.expression ?? '';
    if (trimSpace(name) === '') errors.push(required(at.child('name'), 'name is not specified'));
    else if (!IDENTIFIER.test(name) || RESERVED.has(name)) {
      errors.push(invalid(at.child('name'), name, 'must be a valid CEL identifier'));
    }
    if (trimSpace(expression) === '') {
      return [...errors, required(at.child('expression'), 'expression is not specified')];
    }
    const compiled = compiler.addVariable(name, expression, params, known.has(expression));
    return [...errors, ...expressionErrors(compiled, at.child('expression'))];
  });
}
