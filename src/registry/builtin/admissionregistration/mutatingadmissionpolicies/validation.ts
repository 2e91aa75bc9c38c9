import { OBJECT_TYPE, PATCH_TYPE } from '../../../../admission/cel/types.js';
import { types } from '@annex/cel';
import { type FieldError, FieldPath, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import type * as admissionregistration from '../../../../apimachinery/generated/admissionregistration.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { validateObjectMeta } from '../../../../apimachinery/validation/object-meta.js';
import { trimSpace } from '../../../../util/text/trim-space.js';
import { choice, itemErrors } from '../../shared/checks.js';
import { expressionErrors, PolicyCompiler } from '../shared/expressions.js';
import { validateMutatingOperations } from '../shared/match-resources.js';
import { validateCommonSpec, validateVariables } from '../shared/policy-spec.js';

const PATCH_TYPES = ['ApplyConfiguration', 'JSONPatch'];
const REINVOCATION_POLICIES = ['IfNeeded', 'Never'];

interface Validating {
  readonly compiler: PolicyCompiler;
  readonly params: boolean;
  /** The apply configurations that the policy had before the update. */
  readonly known: ReadonlySet<string>;
}

/** Validates a policy; `old` is absent for a create. */
export function validatePolicy(
  policy: admissionregistration.MutatingAdmissionPolicy,
  old: admissionregistration.MutatingAdmissionPolicy | undefined,
): FieldError[] {
  const spec: admissionregistration.MutatingAdmissionPolicySpec = policy.spec ?? {};
  const before = old?.spec;
  const path = FieldPath.of('spec');
  const mutations = spec.mutations ?? [];
  const configurations = (before?.mutations ?? []).map((mutation) => mutation.applyConfiguration?.expression ?? '');
  const validating: Validating = {
    compiler: new PolicyCompiler({ composes: true }),
    params: spec.paramKind !== undefined,
    known: new Set(configurations),
  };
  return [
    ...validateObjectMeta(policy.metadata, 'Cluster', nameIsDnsSubdomain),
    ...validateCommonSpec(spec, path, { old: before, constraints: validateMutatingOperations }),
    ...validateVariables(spec, path, validating.compiler, new Set()),
    ...(mutations.length === 0 ? [required(path.child('mutations'), 'mutations must contain at least one item')] : []),
    ...itemErrors(spec, 'mutations', path, (mutation, at) => validateMutation(mutation, at, validating)),
    ...choice(spec.reinvocationPolicy ?? '', path.child('reinvocationPolicy'), REINVOCATION_POLICIES),
  ];
}

function validateMutation(
  mutation: admissionregistration.Mutation,
  path: FieldPath,
  validating: Validating,
): FieldError[] {
  const patchType = mutation.patchType ?? '';
  const wrongType = choice(patchType, path.child('patchType'), PATCH_TYPES);
  if (wrongType.length > 0) return wrongType;
  const applies = patchType === 'ApplyConfiguration';
  const [key, other] = applies
    ? (['applyConfiguration', 'jsonPatch'] as const)
    : (['jsonPatch', 'applyConfiguration'] as const);
  const wanted = mutation[key];
  const errors =
    wanted === undefined
      ? [required(path.child(key), `must be specified when patchType is ${patchType}`)]
      : validateExpression(wanted.expression ?? '', path.child(key, 'expression'), applies, validating);
  if (mutation[other] !== undefined) {
    errors.push(invalid(path.child(other), `{${other}}`, `must not be specified when patchType is ${patchType}`));
  }
  return errors;
}

function validateExpression(
  expression: string,
  path: FieldPath,
  applies: boolean,
  { compiler, params, known }: Validating,
): FieldError[] {
  const trimmed = trimSpace(expression);
  if (trimmed === '') return [required(path)];
  const result = applies ? OBJECT_TYPE : types.listOf(PATCH_TYPE);
  const optional = { params, authorizer: true, patchTypes: true };
  return expressionErrors(compiler.compile(trimmed, [result], optional, known.has(expression)), path);
}
