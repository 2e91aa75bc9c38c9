import { addFacts, FACTS, isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { MetadataError, readMetadata } from '../../schema/metadata.js';

/** The fields that are set again before an object is stored. */
const SYSTEM_FIELDS = new Set([
  'creationTimestamp',
  'generation',
  'managedFields',
  'resourceVersion',
  'selfLink',
  'uid',
]);

/**
 * Drops metadata that an apply left empty, which is absent when the object is read again, and turns null labels and annotations
 * into ''. `isStored` is true if this metadata is stored, false if that of the previous object is.
 */
export function dropEmptyMetadata(object: KubeObject, isStored: boolean): void {
  const { metadata } = object as { metadata: JsonObject };
  for (const key in metadata) {
    const value = metadata[key];
    if (isEmptyMember(key, value)) {
      Reflect.deleteProperty(metadata, key);
      noteUnseen(object, isStored && !SYSTEM_FIELDS.has(key));
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

/**
 * Rewrites the deletion fields as they are read back: unreadable values are dropped, times get their usual form. Returns why they
 * cannot be read, if so.
 */
export function readDeletion(metadata: JsonObject): string | undefined {
  const { deletionTimestamp = null, deletionGracePeriodSeconds = null } = metadata;
  const given = { deletionTimestamp, deletionGracePeriodSeconds };
  for (const key in given) Reflect.deleteProperty(metadata, key);
  Object.assign(metadata, readMetadata(given, 'drop'));
  try {
    readMetadata(given, 'throw');
    return undefined;
  } catch (error) {
    if (error instanceof MetadataError) return error.message;
    throw error;
  }
}
