import {
  FieldPath,
  forbidden,
  invalid,
  Printed,
  required,
  type FieldError,
} from '../../../apimachinery/meta/field-error.js';
import { objectAt, stringAt, stringifyJson, type JsonObject, textAt } from '../../../apimachinery/json/json.js';
import { objectsOf, stringsOf } from '../../../apimachinery/json/values.js';
import { escapeHtml, type KubeObject, type ObjectMeta } from '../../../apimachinery/meta/meta.js';
import { labelValueErrors, qualifiedNameErrors } from '../../../apimachinery/validation/name-errors.js';
import { OBJECT_META_FIELDS } from '../../../schema/metadata.js';

const SPEC = FieldPath.of('spec');
const RESOURCE = FieldPath.of('spec', 'resourceAttributes');

export function validateSubjectAccessReview(review: KubeObject): FieldError[] {
  const spec = objectAt(review, 'spec') ?? {};
  return [...validateSpec(spec, { wantsUser: true }), ...validateMetadata(review.metadata, { allowsNamespace: false })];
}

export function validateSelfSubjectAccessReview(review: KubeObject): FieldError[] {
  const spec = objectAt(review, 'spec') ?? {};
  return [
    ...validateSpec(spec, { wantsUser: false }),
    ...validateMetadata(review.metadata, { allowsNamespace: false }),
  ];
}

export function validateLocalSubjectAccessReview(review: KubeObject): FieldError[] {
  const spec = objectAt(review, 'spec') ?? {};
  const errors = [
    ...validateSpec(spec, { wantsUser: true }),
    ...validateMetadata(review.metadata, { allowsNamespace: true }),
  ];
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

function validateSpec(spec: JsonObject, { wantsUser }: { readonly wantsUser: boolean }): FieldError[] {
  const errors: FieldError[] = [];
  const resource = objectAt(spec, 'resourceAttributes');
  const nonResource = objectAt(spec, 'nonResourceAttributes');
  if (resource !== undefined && nonResource !== undefined) {
    const text = 'cannot be specified in combination with resourceAttributes';
    errors.push(invalid(SPEC.child('nonResourceAttributes'), showNonResource(nonResource), text));
  }
  if (resource === undefined && nonResource === undefined) {
    const text = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    errors.push(invalid(RESOURCE, null, text));
  }
  const user = textAt(spec, 'user');
  if (wantsUser && user === '' && stringsOf(spec['groups']).length === 0) {
    errors.push(invalid(SPEC.child('user'), user, 'at least one of user or group must be specified'));
  }
  if (resource === undefined) return errors;
  const field = objectAt(resource, 'fieldSelector');
  const label = objectAt(resource, 'labelSelector');
  if (field !== undefined) errors.push(...validateSelector(field, RESOURCE.child('fieldSelector'), validateFieldKey));
  if (label !== undefined)
    errors.push(...validateSelector(label, RESOURCE.child('labelSelector'), validateLabelKeyAndValues));
  return errors;
}

/** Returns the attributes as Go prints the internal type, whose fields have no JSON names. */
function showNonResource(attributes: JsonObject): JsonObject {
  return { Path: textAt(attributes, 'path'), Verb: textAt(attributes, 'verb') };
}

interface KeyValidation {
  /** `before` and `after` return the errors that precede and follow those of the operator. */
  before(requirement: JsonObject, path: FieldPath): FieldError[];
  after(requirement: JsonObject, path: FieldPath): FieldError[];
}

const validateFieldKey: KeyValidation = {
  before: (requirement, path) =>
    textAt(requirement, 'key') === '' ? [required(path.child('key'), 'must be specified')] : [],
  after: () => [],
};

const validateLabelKeyAndValues: KeyValidation = {
  before: () => [],
  after: (requirement, path) => {
    const key = textAt(requirement, 'key');
    const errors = qualifiedNameErrors(key, path.child('key'));
    stringsOf(requirement['values']).forEach((value, index) => {
      errors.push(...labelValueErrors(value, path.child('values').index(index)));
    });
    return errors;
  },
};

function validateSelector(selector: JsonObject, path: FieldPath, keys: KeyValidation): FieldError[] {
  const errors: FieldError[] = [];
  const raw = textAt(selector, 'rawSelector');
  const requirements = objectsOf(selector['requirements']);
  if (raw !== '' && requirements.length > 0) {
    errors.push(invalid(path.child('rawSelector'), raw, 'may not specified at the same time as requirements'));
  }
  if (raw === '' && requirements.length === 0) {
    const text = `when ${path.toString()} is specified, requirements or rawSelector is required`;
    errors.push(required(path.child('requirements'), text));
  }
  requirements.forEach((requirement, index) => {
    const at = path.child('requirements').index(index);
    errors.push(...keys.before(requirement, at), ...validateOperator(requirement, at), ...keys.after(requirement, at));
  });
  return errors;
}

/** Unknown operators are accepted, for compatibility with newer clients. */
function validateOperator(requirement: JsonObject, path: FieldPath): FieldError[] {
  const count = stringsOf(requirement['values']).length;
  switch (stringAt(requirement, 'operator')) {
    case 'In':
    case 'NotIn':
      if (count > 0) return [];
      return [required(path.child('values'), "must be specified when `operator` is 'In' or 'NotIn'")];
    case 'Exists':
    case 'DoesNotExist':
      if (count === 0) return [];
      return [forbidden(path.child('values'), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    default:
      return [];
  }
}

function validateMetadata(meta: ObjectMeta, { allowsNamespace }: { readonly allowsNamespace: boolean }): FieldError[] {
  const shown: JsonObject = {};
  let empty = true;
  for (const field of OBJECT_META_FIELDS) {
    const value = meta[field];
    if (isUnset(value)) continue;
    shown[field] = value;
    if (field !== 'managedFields' && !(allowsNamespace && field === 'namespace')) empty = false;
  }
  if (empty) return [];
  const text = allowsNamespace ? 'must be empty except for namespace' : 'must be empty';
  return [invalid('metadata', new Printed(escapeHtml(stringifyJson(shown))), text)];
}

function isUnset(value: ObjectMeta[string]): boolean {
  if (value === undefined || value === null || value === '' || value === 0) return true;
  if (typeof value !== 'object') return false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}
