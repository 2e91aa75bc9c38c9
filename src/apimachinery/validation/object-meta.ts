import {
  FieldPath,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  Printed,
  required,
  tooLong,
} from '../meta/field-error.js';
import { deepEqual, type JsonValue } from '../json/json.js';
import {
  compareUtf8,
  goJson,
  hasDeletionTimestamp,
  type ManagedFieldsEntry,
  type ObjectMeta,
  type OwnerReference,
  parseGroupVersion,
  quote,
  type Scope,
} from '../meta/meta.js';
import { strayByte } from '../../util/text/utf8.js';
import { labelErrors, labelValueErrors, qualifiedNameErrors } from './name-errors.js';
import { isQualifiedName, type NameValidator } from './names.js';

const TOTAL_ANNOTATION_SIZE_LIMIT = 256 * 1024;
export const FIELD_IMMUTABLE = 'field is immutable';
export const FIELD_MANAGER_MAX_LENGTH = 128;
const MAX_SUBRESOURCE_LENGTH = 256;
const OPERATIONS = ['Apply', 'Update'];

export const FINALIZER_ORPHAN_DEPENDENTS = 'orphan';
export const FINALIZER_DELETE_DEPENDENTS = 'foregroundDeletion';

const METADATA = FieldPath.of('metadata');

const sortedKeys = (map: object): string[] => Object.keys(map).sort(compareUtf8);

export function validateLabels(labels: Readonly<Record<string, string>> | undefined, path: FieldPath): FieldError[] {
  if (labels === undefined) return [];
  const errors: FieldError[] = [];
  for (const key of sortedKeys(labels)) {
    errors.push(...qualifiedNameErrors(key, path));
    const value = labels[key] ?? '';
    errors.push(...labelValueErrors(value, path));
  }
  return errors;
}

export function validateAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
  path: FieldPath,
): FieldError[] {
  if (annotations === undefined) return [];
  const errors: FieldError[] = [];
  let size = 0;
  for (const key of sortedKeys(annotations)) {
    size += Buffer.byteLength(key) + Buffer.byteLength(annotations[key] ?? '');
    for (const text of isQualifiedName(key.toLowerCase())) errors.push(invalid(path, key, text));
  }
  if (size > TOTAL_ANNOTATION_SIZE_LIMIT) errors.push(tooLong(path, TOTAL_ANNOTATION_SIZE_LIMIT));
  return errors;
}

function printOwnerReference(ref: OwnerReference): string {
  const members = [ref.apiVersion, ref.kind, ref.name, ref.uid].map(
    (value, i) => `"${['apiVersion', 'kind', 'name', 'uid'][i] ?? ''}":${goJson(value ?? '')}`,
  );
  if (ref.controller !== undefined) members.push(`"controller":${goJson(ref.controller)}`);
  if (ref.blockOwnerDeletion !== undefined) members.push(`"blockOwnerDeletion":${goJson(ref.blockOwnerDeletion)}`);
  return `{${members.join(',')}}`;
}

function validateOwnerReference(ref: OwnerReference, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const apiVersion = ref.apiVersion ?? '';
  const gv = parseGroupVersion(apiVersion);
  if (apiVersion === '') errors.push(required(path.child('apiVersion'), 'must not be empty'));
  else if ((gv?.version ?? '') === '') {
    errors.push(invalid(path.child('apiVersion'), apiVersion, 'must be <group>/<version> or <version>'));
  }
  for (const field of ['kind', 'name', 'uid'] as const) {
    if ((ref[field] ?? '') === '') errors.push(required(path.child(field), 'must not be empty'));
  }
  if (apiVersion === 'v1' && ref.kind === 'Event') {
    errors.push(
      invalid(path, new Printed(printOwnerReference(ref)), '/v1, Kind=Event is disallowed from being an owner'),
    );
  }
  return errors;
}

/** The errors about several controllers list all references, each of them: they end when they have this many characters in all. */
const MAX_LISTED = 256 * 1024;

function validateOwnerReferences(refs: readonly OwnerReference[] | undefined, path: FieldPath): FieldError[] {
  if (refs === undefined) return [];
  const errors: FieldError[] = [];
  let first = '';
  let listed: string | undefined;
  let listedLength = 0;
  for (const [i, ref] of refs.entries()) {
    errors.push(...validateOwnerReference(ref, path.index(i)));
    if (ref.controller !== true || listedLength > MAX_LISTED) continue;
    const current = `${ref.kind ?? ''}/${ref.name ?? ''}`;
    if (first === '') {
      first = current;
      continue;
    }
    const text = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${current}`;
    listed ??= `[${refs.map(printOwnerReference).join(',')}]`;
    listedLength += listed.length;
    errors.push(invalid(path, new Printed(listed), text));
  }
  return errors;
}

function validateFinalizers(finalizers: readonly string[] | undefined, path: FieldPath): FieldError[] {
  if (finalizers === undefined) return [];
  const errors = finalizers.flatMap((name) => qualifiedNameErrors(name, path));
  if (finalizers.includes(FINALIZER_DELETE_DEPENDENTS) && finalizers.includes(FINALIZER_ORPHAN_DEPENDENTS)) {
    const text = `finalizer ${FINALIZER_ORPHAN_DEPENDENTS} and ${FINALIZER_DELETE_DEPENDENTS} cannot be both set`;
    errors.push(invalid(path, [...finalizers], text));
  }
  return errors;
}

function validateNoNewFinalizers(now: readonly string[], before: readonly string[], path: FieldPath): FieldError[] {
  const known = new Set(before);
  const extra = [...new Set(now)].filter((name) => !known.has(name)).sort(compareUtf8);
  if (extra.length === 0) return [];
  const list = `[]string{${extra.map(quote).join(', ')}}`;
  return [
    forbidden(path, `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`),
  ];
}

/** Formats a character as Go's %#U does. */
function unicodePoint(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  const hex = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return isPrintable(char) ? `${hex} '${char}'` : hex;
}

/** Go's unicode.IsPrint: letters, marks, numbers, punctuation, symbols, and the ASCII space. A byte that is not UTF-8 counts as U+FFFD. */
const PRINTABLE = /^[ \p{L}\p{M}\p{N}\p{P}\p{S}\p{Surrogate}]$/u;
export const isPrintable = (char: string): boolean => PRINTABLE.test(char);

const bytesOf = (char: string): number => (strayByte(char.charCodeAt(0)) === undefined ? Buffer.byteLength(char) : 1);

const PLAIN = /^[ -~]*$/;

/** Validates the fieldManager of a request, or the manager of a managedFields entry. */
export function validateFieldManager(manager: string, path: FieldPath | string): FieldError[] {
  const errors: FieldError[] = [];
  if (PLAIN.test(manager) && manager.length <= FIELD_MANAGER_MAX_LENGTH) return errors;
  let length = 0;
  for (const char of manager) length += bytesOf(char);
  if (length > FIELD_MANAGER_MAX_LENGTH) errors.push(tooLong(path, FIELD_MANAGER_MAX_LENGTH));
  // The error for each character has the whole text.
  if (length > 8 * FIELD_MANAGER_MAX_LENGTH) return errors;
  let position = 0;
  for (const char of manager) {
    if (!isPrintable(char)) {
      errors.push(invalid(path, manager, `invalid character ${unicodePoint(char)} (at position ${position})`));
    }
    position += bytesOf(char);
  }
  return errors;
}

function validateManagedFields(entries: readonly ManagedFieldsEntry[] | undefined, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  entries?.forEach((entry, i) => {
    const at = path.index(i);
    const operation = entry.operation ?? '';
    if (operation === '') errors.push(required(at.child('operation'), 'must not be empty'));
    else if (!OPERATIONS.includes(operation)) errors.push(notSupported(at.child('operation'), operation, OPERATIONS));
    const fieldsType = entry.fieldsType ?? '';
    if (fieldsType !== '' && fieldsType !== 'FieldsV1') {
      errors.push(invalid(at.child('fieldsType'), fieldsType, 'must be `FieldsV1`'));
    }
    errors.push(...validateFieldManager(entry.manager ?? '', at.child('manager')));
    if (Buffer.byteLength(entry.subresource ?? '') > MAX_SUBRESOURCE_LENGTH) {
      errors.push(tooLong(at.child('subresource'), MAX_SUBRESOURCE_LENGTH));
    }
  });
  return errors;
}

function validateGeneration({ generation }: ObjectMeta, path: FieldPath): FieldError[] {
  if (generation === undefined || generation >= 0) return [];
  return [invalid(path.child('generation'), generation, 'must be greater than or equal to 0')];
}

/** Validates the metadata of an object to create, after name generation. */
export function validateObjectMeta(
  meta: ObjectMeta,
  scope: Scope,
  validateName: NameValidator,
  path: FieldPath = METADATA,
): FieldError[] {
  const errors: FieldError[] = [];
  const { generateName = '', name = '', namespace = '' } = meta;
  if (generateName !== '') {
    for (const text of validateName(generateName, 'prefix'))
      errors.push(invalid(path.child('generateName'), generateName, text));
  }
  if (name === '') errors.push(required(path.child('name'), 'name or generateName is required'));
  else for (const text of validateName(name)) errors.push(invalid(path.child('name'), name, text));
  const namespacePath = path.child('namespace');
  if (scope === 'Cluster') {
    if (namespace !== '') errors.push(forbidden(namespacePath, 'not allowed on this type'));
  } else if (namespace === '') errors.push(required(namespacePath));
  else errors.push(...labelErrors(namespace, namespacePath));
  errors.push(...validateGeneration(meta, path));
  errors.push(
    ...validateLabels(meta.labels, path.child('labels')),
    ...validateAnnotations(meta.annotations, path.child('annotations')),
    ...validateOwnerReferences(meta.ownerReferences, path.child('ownerReferences')),
    ...validateFinalizers(meta.finalizers, path.child('finalizers')),
    ...validateManagedFields(meta.managedFields, path.child('managedFields')),
  );
  return errors;
}

/** Reports whether two values are equal for the API: a missing value equals an empty list, map, or string. */
export function semanticEqual(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return isUnset(a) ? isUnset(b) : deepEqual(a, b);
}

/** Reports whether a value is absent or empty. */
export function isUnset(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in value) return false;
  return true;
}

/** Validates an immutable field. `value` is printed as it is: for an absent text field, pass ''. */
export function validateImmutableField(
  value: JsonValue | undefined,
  old: JsonValue | undefined,
  path: FieldPath,
): FieldError[] {
  return semanticEqual(value, old) ? [] : [invalid(path, value, FIELD_IMMUTABLE)];
}

/** Validates the metadata of an object that replaces another one. */
export function validateObjectMetaUpdate(meta: ObjectMeta, old: ObjectMeta): FieldError[] {
  const errors: FieldError[] = [];
  if (hasDeletionTimestamp({ metadata: old })) {
    errors.push(...validateNoNewFinalizers(meta.finalizers ?? [], old.finalizers ?? [], METADATA.child('finalizers')));
  }
  if ((meta.resourceVersion ?? '') === '') {
    errors.push(invalid(METADATA.child('resourceVersion'), '', 'must be specified for an update'));
  }
  errors.push(...validateGeneration(meta, METADATA));
  if ((meta.generation ?? 0) < (old.generation ?? 0)) {
    errors.push(invalid(METADATA.child('generation'), meta.generation ?? 0, 'must not be decremented'));
  }
  for (const field of ['name', 'namespace', 'uid'] as const) {
    errors.push(...validateImmutableField(meta[field] ?? '', old[field] ?? '', METADATA.child(field)));
  }
  for (const field of ['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const) {
    errors.push(...validateImmutableField(meta[field] ?? null, old[field] ?? null, METADATA.child(field)));
  }
  errors.push(
    ...validateLabels(meta.labels, METADATA.child('labels')),
    ...validateAnnotations(meta.annotations, METADATA.child('annotations')),
    ...validateOwnerReferences(meta.ownerReferences, METADATA.child('ownerReferences')),
    ...validateManagedFields(meta.managedFields, METADATA.child('managedFields')),
  );
  return errors;
}

export const STANDARD_FINALIZERS: ReadonlySet<string> = new Set([
  'kubernetes',
  FINALIZER_ORPHAN_DEPENDENTS,
  FINALIZER_DELETE_DEPENDENTS,
]);

/** Returns the warnings that kube-apiserver sends about finalizers that a write adds to a custom resource. */
export function finalizerWarnings(
  finalizers: readonly string[] | undefined,
  old: readonly string[] | undefined,
): string[] {
  const warnings: string[] = [];
  const known = new Set(old);
  const added = [...new Set(finalizers)].filter((name) => !known.has(name)).sort(compareUtf8);
  for (const name of added) {
    const subject = `metadata.finalizers: ${quote(name)}: `;
    warnings.push(...isQualifiedName(name).map((text) => subject + text));
    if (name.includes('/') || STANDARD_FINALIZERS.has(name)) continue;
    const wanted = name.includes('.') ? ' including a path (/)' : '';
    warnings.push(
      `${subject}prefer a domain-qualified finalizer name${wanted} to avoid accidental conflicts with other finalizer writers`,
    );
  }
  return warnings;
}
