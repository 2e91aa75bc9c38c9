import type { FieldSelectorRequirement, LabelSelectorRequirement } from '../../../apimachinery/generated/meta.js';
import type * as authorization from '../../../apimachinery/generated/authorization.js';
import { type FieldError, FieldPath, invalid, Printed, required } from '../../../apimachinery/meta/field-error.js';
import { type JsonObject, stringifyJson } from '../../../apimachinery/json/json.js';
import { escapeHtml, type ObjectMeta } from '../../../apimachinery/meta/meta.js';
import { labelValueErrors, qualifiedNameErrors } from '../../../apimachinery/validation/name-errors.js';
import { isUnset } from '../../../apimachinery/validation/object-meta.js';
import { eachErrors, itemErrors } from '../shared/checks.js';
import { OBJECT_META_FIELDS } from '../../../schema/metadata.js';
import { valueCountErrors } from '../../../apimachinery/selectors/label-selector-object.js';

type Requirement = FieldSelectorRequirement | LabelSelectorRequirement;
type Check = (requirement: Requirement, path: FieldPath) => FieldError[];

const SPEC = FieldPath.of('spec');
const RESOURCE = FieldPath.of('spec', 'resourceAttributes');

export const validateSubjectAccessReview = (review: authorization.SubjectAccessReview): FieldError[] =>
  validateReview(review);

export const validateSelfSubjectAccessReview = (review: authorization.SubjectAccessReview): FieldError[] =>
  validateReview(review, { wantsUser: false });

export function validateLocalSubjectAccessReview(review: authorization.SubjectAccessReview): FieldError[] {
  const errors = validateReview(review, { allowsNamespace: true });
  const spec = review.spec;
  const resource = spec?.resourceAttributes;
  const namespace = resource?.namespace ?? '';
  if (resource !== undefined && namespace !== (review.metadata.namespace ?? '')) {
    errors.push(invalid(RESOURCE.child('namespace'), namespace, 'must match metadata.namespace'));
  }
  const nonResource = spec?.nonResourceAttributes;
  if (nonResource !== undefined) {
    const shown = showNonResource(nonResource);
    errors.push(invalid(SPEC.child('nonResourceAttributes'), shown, 'disallowed on this kind of request'));
  }
  return errors;
}

function validateReview(
  review: authorization.SubjectAccessReview,
  { wantsUser = true, allowsNamespace = false } = {},
): FieldError[] {
  const spec: authorization.SubjectAccessReviewSpec = review.spec ?? {};
  return [...validateSpec(spec, wantsUser), ...validateMetadata(review.metadata, allowsNamespace)];
}

function validateSpec(spec: authorization.SubjectAccessReviewSpec, wantsUser: boolean): FieldError[] {
  const errors: FieldError[] = [];
  const resource = spec.resourceAttributes;
  const nonResource = spec.nonResourceAttributes;
  if ((resource === undefined) === (nonResource === undefined)) {
    const text = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    errors.push(invalid(SPEC, nonResource === undefined ? null : showNonResource(nonResource), text));
  }
  const user = spec.user ?? '';
  if (wantsUser && user === '' && (spec.groups ?? []).length === 0) {
    errors.push(invalid(SPEC.child('user'), user, 'at least one of user or group must be specified'));
  }
  if (resource === undefined) return errors;
  const field = resource.fieldSelector;
  const label = resource.labelSelector;
  if (field !== undefined) errors.push(...validateSelector(field, RESOURCE.child('fieldSelector'), fieldRequirement));
  if (label !== undefined) errors.push(...validateSelector(label, RESOURCE.child('labelSelector'), labelRequirement));
  return errors;
}

/** Returns the attributes as Go prints the internal type, whose fields have no JSON names. */
function showNonResource(attributes: authorization.NonResourceAttributes): JsonObject {
  return { Path: attributes.path ?? '', Verb: attributes.verb ?? '' };
}

const fieldRequirement: Check = (requirement, path) => [
  ...(!requirement.key ? [required(path.child('key'), 'must be specified')] : []),
  ...validateOperator(requirement, path),
];

const labelRequirement: Check = (requirement, path) => [
  ...validateOperator(requirement, path),
  ...qualifiedNameErrors(requirement.key ?? '', path.child('key')),
  ...eachErrors(requirement.values, path.child('values'), labelValueErrors),
];

function validateSelector(
  selector: authorization.FieldSelectorAttributes | authorization.LabelSelectorAttributes,
  path: FieldPath,
  check: Check,
): FieldError[] {
  const errors: FieldError[] = [];
  const raw = selector.rawSelector ?? '';
  const count = (selector.requirements ?? []).length;
  if (raw !== '' && count > 0) {
    errors.push(invalid(path.child('rawSelector'), raw, 'may not specified at the same time as requirements'));
  }
  if (raw === '' && count === 0) {
    const text = `when ${path.toString()} is specified, requirements or rawSelector is required`;
    errors.push(required(path.child('requirements'), text));
  }
  return [...errors, ...itemErrors(selector, 'requirements', path, check)];
}

/** Unknown operators are accepted, for compatibility with newer clients. */
const validateOperator = (requirement: Requirement, path: FieldPath): FieldError[] =>
  valueCountErrors(requirement.operator ?? '', (requirement.values ?? []).length, path.child('values')) ?? [];

function validateMetadata(meta: ObjectMeta, allowsNamespace: boolean): FieldError[] {
  const shown: JsonObject = {};
  let empty = true;
  for (const field of OBJECT_META_FIELDS) {
    const value = meta[field];
    if (isUnset(value) || value === 0) continue;
    shown[field] = value;
    if (field !== 'managedFields' && !(allowsNamespace && field === 'namespace')) empty = false;
  }
  if (empty) return [];
  const text = allowsNamespace ? 'must be empty except for namespace' : 'must be empty';
  return [invalid('metadata', new Printed(escapeHtml(stringifyJson(shown))), text)];
}
