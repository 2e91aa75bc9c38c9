import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import { Refusal, type Notes } from './conversion.js';

/** Kubernetes' decoder does not distinguish a null from an absent field. */
export const isUnset = (value: JsonValue | undefined): value is null | undefined =>
  value === undefined || value === null;

export const child = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

/** Returns the object at a key; undefined if it is unset. Throws a Refusal for any other value. */
export function objectIn(parent: JsonObject, key: string, path: string): JsonObject | undefined {
  const value = parent[key];
  if (isUnset(value)) return undefined;
  if (!isObject(value)) throw new Refusal(`${child(path, key)} must be an object`);
  return value;
}

/** Like `objectIn`, but creates an object that is missing. */
export function ensureObject(parent: JsonObject, key: string, path: string): JsonObject {
  const known = objectIn(parent, key, path);
  if (known !== undefined) return known;
  const made: JsonObject = {};
  parent[key] = made;
  return made;
}

/** Returns the objects of a list with their paths; none if it is unset. Throws a Refusal for any other value. */
export function objectsIn(
  parent: JsonObject,
  key: string,
  path: string,
): (readonly [item: JsonObject, path: string])[] {
  const value = parent[key];
  if (isUnset(value)) return [];
  const at = child(path, key);
  if (!Array.isArray(value)) throw new Refusal(`${at} must be a list`);
  return value.map((item, i) => {
    if (!isObject(item)) throw new Refusal(`${at}[${String(i)}] must be an object`);
    return [item, `${at}[${String(i)}]`];
  });
}

/** Returns the string at a key; undefined if it is unset or empty. Throws a Refusal for any other value. */
export function textIn(parent: JsonObject, key: string, path: string): string | undefined {
  const value = parent[key];
  if (isUnset(value) || value === '') return undefined;
  if (typeof value !== 'string') throw new Refusal(`${child(path, key)} must be a string`);
  return value;
}

/** Returns the strings of a list; none if it is unset. Throws a Refusal for any other value. */
export function textsIn(parent: JsonObject, key: string, path: string): readonly string[] {
  const value = parent[key];
  if (isUnset(value)) return [];
  const isText = (item: JsonValue): item is string => typeof item === 'string';
  if (!Array.isArray(value) || !value.every(isText)) throw new Refusal(`${child(path, key)} must be a list of strings`);
  return value;
}

/** Reports whether a value is unset, or an empty string, list or map. */
export function isEmpty(value: JsonValue | undefined): boolean {
  if (isUnset(value) || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** Removes a field from its object and returns its value; undefined if it is unset. */
export function take(parent: JsonObject, key: string): JsonValue | undefined {
  const value = parent[key];
  Reflect.deleteProperty(parent, key);
  return value ?? undefined;
}

/** Sets a field if it is unset. */
export function makeExplicit(parent: JsonObject, key: string, value: JsonValue): void {
  if (isUnset(parent[key])) parent[key] = value;
}

export function rename(parent: JsonObject, from: string, to: string, path: string): void {
  const value = take(parent, from);
  if (value === undefined) return;
  if (!isUnset(parent[to])) throw new Refusal(`${child(path, from)} and ${child(path, to)} are both given`);
  parent[to] = value;
}

/** Removes fields other than the known ones and reports them as lost. */
export function dropOtherFields(
  object: JsonObject,
  known: readonly string[],
  path: string,
  to: string,
  notes: Notes,
): void {
  for (const key of Object.keys(object)) {
    if (known.includes(key)) continue;
    if (!isUnset(object[key])) notes.lose(`${child(path, key)} has no equivalent in ${to}`);
    Reflect.deleteProperty(object, key);
  }
}
