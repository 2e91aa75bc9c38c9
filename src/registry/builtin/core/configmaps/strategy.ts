import { type FieldError, FieldPath, forbidden, invalid, tooLong } from '../../../../apimachinery/meta/field-error.js';
import { deepEqual, isObject, type JsonValue } from '../../../../apimachinery/json/json.js';
import type { ConfigMap } from '../../../../apimachinery/generated/core.js';
import { compareUtf8 } from '../../../../apimachinery/meta/meta.js';
import { emptyMembersOf } from '../../../../apimachinery/scheme/empty-members.js';
import { configMapKeyErrors } from '../../../../apimachinery/validation/name-errors.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import type { Strategy } from '../../../rest/interfaces.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../../shared/meta.js';

/** The maximum total size of the values in a ConfigMap or Secret, in bytes. */
export const MAX_DATA_SIZE = 1024 * 1024;

const IMMUTABLE_TEXT = 'field is immutable when `immutable` is set';

/** Returns the entries of a map of strings, sorted by key. */
export const entriesOf = (map: Readonly<Record<string, string>> = {}): [string, string][] =>
  Object.entries(map).sort(([a], [b]) => compareUtf8(a, b));

/** Returns the number of bytes that a base64 text encodes. */
export function decodedLength(base64: string): number {
  return Buffer.byteLength(base64, 'base64');
}

function validate(object: ConfigMap): FieldError[] {
  const errors = validateCoreMeta(object.metadata, 'Namespaced', nameIsDnsSubdomain);
  const binary = new Map(entriesOf(object.binaryData));
  let size = 0;
  for (const [key, value] of entriesOf(object.data)) {
    const path = FieldPath.of('data').key(key);
    errors.push(...configMapKeyErrors(key, path));
    if (binary.has(key)) errors.push(invalid(path, key, 'duplicate of key present in binaryData'));
    size += Buffer.byteLength(value);
  }
  for (const [key, value] of binary) {
    errors.push(...configMapKeyErrors(key, FieldPath.of('binaryData').key(key)));
    size += decodedLength(value);
  }
  if (size > MAX_DATA_SIZE) errors.push(tooLong('[]', MAX_DATA_SIZE));
  return errors;
}

/**
 * Rejects changes of fields once `immutable` is set. An empty map differs from a missing one, although both are stored as missing,
 * except in the field `defaulted`, which is empty by default.
 */
export function immutableErrors(
  object: ConfigMap,
  old: ConfigMap,
  fields: readonly string[],
  defaulted?: string,
): FieldError[] {
  if (old.immutable !== true) return [];
  const isEmpty = (map: JsonValue | undefined): boolean => isObject(map) && Object.keys(map).length === 0;
  const changed = fields.filter((field) => {
    if (field !== defaulted && (isEmpty(object[field]) || isEmpty(emptyMembersOf(object)?.[field]))) return true;
    return !deepEqual(object[field] ?? {}, old[field] ?? {});
  });
  if (object.immutable !== true) changed.unshift('immutable');
  return changed.map((field) => forbidden(field, IMMUTABLE_TEXT));
}

export const configMapStrategy: Strategy<ConfigMap> = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  validateCreate: (_context, object) => validate(object),
  validateUpdate: (_context, object, old) => [
    ...validateCoreMetaUpdate(object.metadata, old.metadata),
    ...immutableErrors(object, old, ['data', 'binaryData'], 'data'),
    ...validate(object),
  ],
};
