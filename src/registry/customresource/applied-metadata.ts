import { addFacts, FACTS, isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import { type FieldError, FieldPath, invalid } from '../../apimachinery/meta/field-error.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { conversionError } from '../../apimachinery/scheme/convert.js';
import { type GoType, goType } from '../../apimachinery/scheme/types.js';
import { readMetadata } from '../../schema/metadata.js';

/** The fields that are set again before an object is stored. */
const SYSTEM_FIELDS = new Set([
  'creationTimestamp',
  'generation',
  'managedFields',
  'resourceVersion',
  'selfLink',
  'uid',
]);

/** The fields that are wiped before a new object is stored. */
const WIPED_FIELDS = new Set(['deletionGracePeriodSeconds', 'deletionTimestamp']);

/**
 * Drops metadata that an apply left empty, which is absent when the object is read again, and turns null labels and annotations
 * into ''. `isStored` is true if this metadata is stored, false if that of the previous object is.
 */
export function dropEmptyMetadata(object: KubeObject, isStored: boolean, isNew: boolean): void {
  const { metadata } = object as { metadata: JsonObject };
  for (const key in metadata) {
    const value = metadata[key];
    if (isEmptyMember(key, value)) {
      Reflect.deleteProperty(metadata, key);
      noteUnseen(object, isStored && !SYSTEM_FIELDS.has(key) && !(isNew && WIPED_FIELDS.has(key)));
    } else if (key === 'labels' || key === 'annotations') {
      if (replaceNulls(value, '')) noteUnseen(object, isStored);
    } else if (key === 'ownerReferences' && Array.isArray(value)) {
      for (const item of value) if (replaceNulls(item, undefined)) noteUnseen(object, isStored);
    }
  }
}

/** Notes that members were dropped. Once noted as 'stored', they stay so. */
function noteUnseen(object: KubeObject, isStored: boolean): void {
  const known = object[FACTS]?.unseenMembers;
  addFacts(object, { unseenMembers: isStored || known === 'stored' ? 'stored' : 'dropped' });
}

function isEmptyMember(key: string, value: JsonValue | undefined): boolean {
  if (value === null) return true;
  if (key === 'generateName') return value === '';
  const isCollection = key === 'labels' || key === 'annotations' || key === 'finalizers' || key === 'ownerReferences';
  return isCollection && typeof value === 'object' && Object.keys(value).length === 0;
}

function replaceNulls(value: JsonValue | undefined, by: string | undefined): boolean {
  if (!isObject(value)) return false;
  let found = false;
  for (const key in value) {
    if (value[key] !== null) continue;
    if (by === undefined) Reflect.deleteProperty(value, key);
    else value[key] = by;
    found = true;
  }
  return found;
}

/** Returns the Go type of ObjectMeta. All built-in types have the same. */
function objectMetaType(): GoType {
  const type = goType({ group: '', version: 'v1', kind: 'ConfigMap' })?.fields.get('metadata')?.type;
  if (type === undefined) throw new Error('the type of metadata is missing');
  return type;
}

/**
 * Reads metadata that a patch, an apply or a mutation produced. Fields of wrong types are left out, as kube-apiserver's accessors do, and
 * noted as a fact of the metadata, for which validation refuses the object.
 */
export function readFaultyMetadata(given: JsonValue): JsonObject {
  const metadata = readMetadata(given, 'drop');
  const type = objectMetaType();
  const error = isObject(given) ? conversionError(type, given) : undefined;
  if (error === undefined || !isObject(given)) return metadata;
  const members: JsonObject = {};
  for (const key in given) {
    const value = given[key];
    const field = type.fields.get(key)?.type;
    if (value === undefined || field === undefined || conversionError(field, value) === undefined) continue;
    members[key] = value;
    Reflect.deleteProperty(metadata, key);
  }
  addFacts(metadata, { unreadable: { members, error } });
  return metadata;
}

/** Rewrites the deletion fields in place as they are read back, and notes those that cannot be read. */
export function readDeletion(metadata: JsonObject): void {
  const { deletionTimestamp = null, deletionGracePeriodSeconds = null } = metadata;
  const given = { deletionTimestamp, deletionGracePeriodSeconds };
  for (const key in given) Reflect.deleteProperty(metadata, key);
  const read = readFaultyMetadata(given);
  Object.assign(metadata, read);
  const unreadable = read[FACTS]?.unreadable;
  if (unreadable !== undefined) addFacts(metadata, { unreadable });
}

/** Returns the error of metadata with fields of wrong types. */
export function unreadableErrors({ metadata }: KubeObject): FieldError[] {
  const unreadable = metadata[FACTS]?.unreadable;
  if (unreadable === undefined) return [];
  return [invalid(FieldPath.of('metadata'), { ...unreadable.members, ...metadata }, unreadable.error)];
}
