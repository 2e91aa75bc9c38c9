import { isObject, type JsonObject, type JsonValue } from './json.js';

/** The objects of a list; what is none is left out. */
export function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The texts of a list; what is none is left out. */
export function textsOf(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** A text; the empty one where there is none. */
export const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');
