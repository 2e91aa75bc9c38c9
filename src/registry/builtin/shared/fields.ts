import { isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';

export const numberOf = (value: JsonValue | undefined): number => (typeof value === 'number' ? value : 0);

/** The object under a key, made where there is none, ready to be changed. */
export function ensureObject(parent: JsonObject, key: string): JsonObject {
  const existing = parent[key];
  if (isObject(existing)) return existing;
  const made: JsonObject = {};
  parent[key] = made;
  return made;
}

/** Sets a value where there is none, or the empty one. */
export function setDefault(object: JsonObject, key: string, value: JsonValue): void {
  const current = object[key];
  if (current === undefined || current === null || current === '') object[key] = value;
}

/** A list that is always written is null when it is stored without elements. */
export function emptyListIsNull(object: JsonObject, field: string): void {
  const list = object[field];
  if (Array.isArray(list) && list.length === 0) object[field] = null;
}

/** Takes a field over from the object before, and its absence too. */
export function keepField(field: string, object: JsonObject, old: JsonObject): void {
  const value = old[field];
  if (value === undefined) delete object[field];
  else object[field] = value;
}
