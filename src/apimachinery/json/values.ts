import { isObject, type JsonObject, type JsonValue } from './json.js';

/** Returns the objects of a list, without its other items. */
export function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Returns the strings of a list, without its other items. */
export function stringsOf(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** Returns a string; empty if the value is not a string. */
export const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');
