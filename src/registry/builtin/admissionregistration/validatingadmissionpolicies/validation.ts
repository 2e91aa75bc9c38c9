import type { Condition } from '../../../../apimachinery/generated/meta.js';
import { types } from '@annex/cel';
import {
  type FieldError,
  FieldPath,
  invalid,
  Printed,
  required,
  tooLong,
} from '../../../../apimachinery/meta/field-error.js';
import type * as admissionregistration from '../../../../apimachinery/generated/admissionregistration.js';
import type { JsonObject } from '../../../../apimachinery/json/json.js';
import { goJson } from '../../../../apimachinery/meta/meta.js';
import { nameIsDnsSubdomain, regexError } from '../../../../apimachinery/validation/names.js';
import { qualifiedNameErrors } from '../../../../apimachinery/validation/name-errors.js';
import { validateObjectMeta } from '../../../../apimachinery/validation/object-meta.js';
import { JsonPathError, parseJsonPath } from '../../../../schema/columns/json-path-parser.js';
import { trimSpace } from '../../../../util/text/trim-space.js';
import { choiceIfSet, eachErrors, itemErrors, noDuplicates } from '../../shared/checks.js';
import { expressionErrors, PolicyCompiler } from '../shared/expressions.js';
import { validateCommonSpec, validateVariables } from '../shared/policy-spec.js';

const { BOOL, STRING, NULL } = types;

const REASONS = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
const MAX_AUDIT_ANNOTATIONS = 20;
const MAX_VALUE_EXPRESSION = 5 * 1024;

/** The expressions of the previous policy. They may use what new ones may not. */
interface Known {
  readonly validations: ReadonlySet<string>;
  readonly messages: ReadonlySet<string>;
  readonly values: ReadonlySet<string>;
}

function knownExpressions(spec: admissionregistration.ValidatingAdmissionPolicySpec = {}): Known {
  const { validations = [], auditAnnotations = [] } = spec;
  return {
    validations: new Set(validations.map(({ expression = '' }) => expression)),
    messages: new Set(validations.map(({ messageExpression = '' }) => messageExpression)),
    values: new Set(auditAnnotations.map(({ valueExpression = '' }) => valueExpression)),
  };
}

/** The context in which the parts of one policy are validated. */
interface Validating {
  readonly compiler: PolicyCompiler;
  readonly params: boolean;
  readonly known: Known;
}

/** Validates a policy; `old` is absent for a create. */
export function validatePolicy(
  policy: admissionregistration.ValidatingAdmissionPolicy,
  old: admissionregistration.ValidatingAdmissionPolicy | undefined,
): FieldError[] {
  const spec: admissionregistration.ValidatingAdmissionPolicySpec = policy.spec ?? {};
  const before = old?.spec;
  const path = FieldPath.of('spec');
  const validating: Validating = {
    compiler: new PolicyCompiler({ composes: (spec.variables ?? []).length > 0 }),
    params: spec.paramKind !== undefined,
    known: knownExpressions(before),
  };
  return [
    ...validateObjectMeta(policy.metadata, 'Cluster', nameIsDnsSubdomain),
    ...validateCommonSpec(spec, path, { old: before }),
    ...validateVariables(spec, path, validating.compiler, validating.known.validations),
    ...validateRules(policy.metadata.name ?? '', spec, path, validating),
  ];
}

function validateRules(
  name: string,
  spec: admissionregistration.ValidatingAdmissionPolicySpec,
  path: FieldPath,
  validating: Validating,
): FieldError[] {
  const validations = spec.validations ?? [];
  const annotations = spec.auditAnnotations ?? [];
  if (validations.length === 0 && annotations.length === 0) {
    const why = 'validations or auditAnnotations must contain at least one item';
    return [required(path.child('validations'), why), required(path.child('auditAnnotations'), why)];
  }
  const errors = itemErrors(spec, 'validations', path, (one, at) => validateValidation(one, at, validating));
  const at = path.child('auditAnnotations');
  if (annotations.length > MAX_AUDIT_ANNOTATIONS) {
    const why = `must not have more than ${String(MAX_AUDIT_ANNOTATIONS)} auditAnnotations`;
    errors.push(invalid(at, new Printed(goJson(annotations.map(internalAnnotation))), why));
  }
  const again = noDuplicates();
  const faults = eachErrors(annotations, at, (annotation, path) => [
    ...validateAnnotation(name, annotation, path, validating),
    ...again(annotation.key ?? '', path.child('key')),
  ]);
  return [...errors, ...faults];
}

/** Returns an annotation as kube-apiserver prints its internal type. */
const internalAnnotation = (annotation: admissionregistration.AuditAnnotation): JsonObject => ({
  Key: annotation.key ?? '',
  ValueExpression: annotation.valueExpression ?? '',
});

function validateValidation(
  validation: admissionregistration.Validation,
  path: FieldPath,
  { compiler, params, known }: Validating,
): FieldError[] {
  const errors: FieldError[] = [];
  const expression = validation.expression ?? '';
  if (trimSpace(expression) === '') {
    errors.push(required(path.child('expression'), 'expression is not specified'));
  } else {
    const compiled = compiler.compile(
      expression,
      [BOOL],
      { params, authorizer: true },
      known.validations.has(expression),
    );
    errors.push(...expressionErrors(compiled, path.child('expression')));
  }
  const messageExpression = validation.messageExpression ?? '';
  const at = path.child('messageExpression');
  if (trimSpace(messageExpression) !== '') {
    const isKnown = known.messages.has(messageExpression);
    const compiled = compiler.compile(messageExpression, [STRING], { params, authorizer: false }, isKnown);
    errors.push(...expressionErrors(compiled, at));
  } else if (messageExpression !== '') errors.push(invalid(at, messageExpression, 'must be non-empty if specified'));
  const message = validation.message ?? '';
  if (message !== '' && trimSpace(message) === '') {
    errors.push(invalid(path.child('message'), message, 'must be non-empty if specified'));
  } else if (/[\n\r]/.test(trimSpace(message))) {
    errors.push(invalid(path.child('message'), message, 'must not contain line breaks'));
  }
  return [...errors, ...choiceIfSet(validation.reason, path.child('reason'), REASONS)];
}

function validateAnnotation(
  name: string,
  annotation: admissionregistration.AuditAnnotation,
  path: FieldPath,
  { compiler, params, known }: Validating,
): FieldError[] {
  const key = annotation.key ?? '';
  const errors =
    name === ''
      ? [invalid(path.child('key'), key, 'requires metadata.name be non-empty')]
      : qualifiedNameErrors(`${name}/${key}`, path.child('key'));
  const expression = annotation.valueExpression ?? '';
  const trimmed = trimSpace(expression);
  const at = path.child('valueExpression');
  if (trimmed === '') return [...errors, required(at, 'valueExpression is not specified')];
  if (Buffer.byteLength(trimmed) > MAX_VALUE_EXPRESSION) {
    return [...errors, required(at, `must not exceed ${String(MAX_VALUE_EXPRESSION)} bytes in length`)];
  }
  const isKnown = known.values.has(expression);
  const compiled = compiler.compile(trimmed, [STRING, NULL], { params, authorizer: true }, isKnown);
  return [...errors, ...expressionErrors(compiled, at, expression)];
}

const STATUSES = ['False', 'True', 'Unknown'];
const MAX_REASON = 1024;
const MAX_MESSAGE = 32 * 1024;
const REASON = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?';
const REASON_TEXT =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";

/** Validates conditions of meta/v1. */
function validateConditions(conditions: readonly Condition[] | undefined, path: FieldPath): FieldError[] {
  const again = noDuplicates();
  return eachErrors(conditions, path, (condition, at) => [
    ...again(condition.type ?? '', at),
    ...validateCondition(condition, at),
  ]);
}

function validateCondition(condition: Condition, path: FieldPath): FieldError[] {
  const { type = '', status = '', reason = '', message = '' } = condition;
  const errors =
    type === '' ? [required(path.child('type'), 'is required')] : qualifiedNameErrors(type, path.child('type'));
  errors.push(
    ...(status === '' ? [required(path.child('status'))] : choiceIfSet(status, path.child('status'), STATUSES)),
  );
  const observed = condition.observedGeneration;
  if (typeof observed === 'number' && observed < 0) {
    errors.push(invalid(path.child('observedGeneration'), observed, 'must be greater than or equal to zero'));
  }
  if (!condition.lastTransitionTime) errors.push(required(path.child('lastTransitionTime')));
  if (reason === '') errors.push(required(path.child('reason')));
  else if (!new RegExp(`^${REASON}$`).test(reason)) {
    const why = regexError(REASON_TEXT, REASON, 'my_name', 'MY_NAME', 'MyName', 'ReasonA,ReasonB', 'ReasonA:ReasonB');
    errors.push(invalid(path.child('reason'), reason, why));
  }
  if (Buffer.byteLength(reason) > MAX_REASON) errors.push(tooLong(path.child('reason'), MAX_REASON));
  if (Buffer.byteLength(message) > MAX_MESSAGE) errors.push(tooLong(path.child('message'), MAX_MESSAGE));
  return errors;
}

/** Validates a status update. */
export function validatePolicyStatus(policy: admissionregistration.ValidatingAdmissionPolicy): FieldError[] {
  const status: admissionregistration.ValidatingAdmissionPolicyStatus = policy.status ?? {};
  const path = FieldPath.of('status');
  return [
    ...itemErrors(status.typeChecking, 'expressionWarnings', path.child('typeChecking'), (warning, at) => [
      ...(!warning.warning ? [required(at.child('warning'))] : []),
      ...validateFieldRef(trimSpace(warning.fieldRef ?? ''), at.child('fieldRef')),
    ]),
    ...validateConditions(status.conditions, path.child('conditions')),
  ];
}

function validateFieldRef(ref: string, path: FieldPath): FieldError[] {
  if (ref === '') return [required(path)];
  try {
    parseJsonPath(ref);
    return [];
  } catch (error) {
    if (error instanceof JsonPathError) return [invalid(path, ref, `invalid JSONPath: ${error.message}`)];
    throw error;
  }
}
