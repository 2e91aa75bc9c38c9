import { isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';

export const numberOf = (value: JsonValue | undefined): number => (typeof value === 'number' ? value : 0);

/** Returns the object at a key for modification. Creates it if it does not exist. */
export function ensureObject<T extends JsonObject, K extends string>(parent: T, key: K): ObjectOf<T[K]> {
  const holder: JsonObject = parent;
  const existing = holder[key];
  return (isObject(existing) ? existing : (holder[key] = {})) as ObjectOf<T[K]>;
}

type ObjectOf<V> = Extract<NonNullable<V>, JsonObject>;

/** Replaces an empty list by null, as which a list that is always written is stored. */
export function emptyListIsNull(object: JsonObject, field: string): void {
  const list = object[field];
  if (Array.isArray(list) && list.length === 0) object[field] = null;
}

/** Restores a field, or its absence, from the old object. */
export function keepField(field: string, object: JsonObject, old: JsonObject): void {
  const value = old[field];
  if (value === undefined) delete object[field];
  else object[field] = value;
}
