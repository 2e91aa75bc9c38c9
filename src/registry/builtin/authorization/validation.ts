import { type FieldError, FieldPath, invalid, Printed, required } from '../../../apimachinery/meta/field-error.js';
import {
  type JsonObject,
  objectAt,
  objectsOf,
  stringifyJson,
  stringsOf,
  textAt,
} from '../../../apimachinery/json/json.js';
import { escapeHtml, type KubeObject, type ObjectMeta } from '../../../apimachinery/meta/meta.js';
import { labelValueErrors, qualifiedNameErrors } from '../../../apimachinery/validation/name-errors.js';
import { isUnset } from '../../../apimachinery/validation/object-meta.js';
import { eachErrors, itemErrors } from '../shared/checks.js';
import { OBJECT_META_FIELDS } from '../../../schema/metadata.js';
import { valueCountErrors } from '../../../apimachinery/selectors/label-selector-object.js';

type Check = (requirement: JsonObject, path: FieldPath) => FieldError[];

const SPEC = FieldPath.of('spec');
const RESOURCE = FieldPath.of('spec', 'resourceAttributes');

export const validateSubjectAccessReview = (review: KubeObject): FieldError[] => validateReview(review);

export const validateSelfSubjectAccessReview = (review: KubeObject): FieldError[] =>
  validateReview(review, { wantsUser: false });

export function validateLocalSubjectAccessReview(review: KubeObject): FieldError[] {
  const errors = validateReview(review, { allowsNamespace: true });
  const spec = objectAt(review, 'spec');
  const resource = objectAt(spec, 'resourceAttributes');
  const namespace = textAt(resource, 'namespace');
  if (resource !== undefined && namespace !== (review.metadata.namespace ?? '')) {
    errors.push(invalid(RESOURCE.child('namespace'), namespace, 'must match metadata.namespace'));
  }
  const nonResource = objectAt(spec, 'nonResourceAttributes');
  if (nonResource !== undefined) {
    const shown = showNonResource(nonResource);
    errors.push(invalid(SPEC.child('nonResourceAttributes'), shown, 'disallowed on this kind of request'));
  }
  return errors;
}

function validateReview(review: KubeObject, { wantsUser = true, allowsNamespace = false } = {}): FieldError[] {
  const spec = objectAt(review, 'spec') ?? {};
  return [...validateSpec(spec, wantsUser), ...validateMetadata(review.metadata, allowsNamespace)];
}

function validateSpec(spec: JsonObject, wantsUser: boolean): FieldError[] {
  const errors: FieldError[] = [];
  const resource = objectAt(spec, 'resourceAttributes');
  const nonResource = objectAt(spec, 'nonResourceAttributes');
  if ((resource === undefined) === (nonResource === undefined)) {
    const text = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    errors.push(invalid(SPEC, nonResource === undefined ? null : showNonResource(nonResource), text));
  }
  const user = textAt(spec, 'user');
  if (wantsUser && user === '' && stringsOf(spec['groups']).length === 0) {
    errors.push(invalid(SPEC.child('user'), user, 'at least one of user or group must be specified'));
  }
  if (resource === undefined) return errors;
  const field = objectAt(resource, 'fieldSelector');
  const label = objectAt(resource, 'labelSelector');
  if (field !== undefined) errors.push(...validateSelector(field, RESOURCE.child('fieldSelector'), fieldRequirement));
  if (label !== undefined) errors.push(...validateSelector(label, RESOURCE.child('labelSelector'), labelRequirement));
  return errors;
}

/** Returns the attributes as Go prints the internal type, whose fields have no JSON names. */
function showNonResource(attributes: JsonObject): JsonObject {
  return { Path: textAt(attributes, 'path'), Verb: textAt(attributes, 'verb') };
}

const fieldRequirement: Check = (requirement, path) => [
  ...(textAt(requirement, 'key') === '' ? [required(path.child('key'), 'must be specified')] : []),
  ...validateOperator(requirement, path),
];

const labelRequirement: Check = (requirement, path) => [
  ...validateOperator(requirement, path),
  ...qualifiedNameErrors(textAt(requirement, 'key'), path.child('key')),
  ...eachErrors(stringsOf(requirement['values']), path.child('values'), labelValueErrors),
];

function validateSelector(selector: JsonObject, path: FieldPath, check: Check): FieldError[] {
  const errors: FieldError[] = [];
  const raw = textAt(selector, 'rawSelector');
  const count = objectsOf(selector['requirements']).length;
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
const validateOperator = (requirement: JsonObject, path: FieldPath): FieldError[] =>
  valueCountErrors(textAt(requirement, 'operator'), stringsOf(requirement['values']).length, path.child('values')) ??
  [];

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
