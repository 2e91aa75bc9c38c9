import { deepEqual, Float, isObject, type JsonObject, type JsonValue } from '../apimachinery/json/json.js';
import type { SchemaNode } from './node.js';

/** Marks an old value that cannot be correlated with the new one. */
export const NO_OLD_VALUE = Symbol('no old value');
export type OldValue = JsonValue | typeof NO_OLD_VALUE;

/** Returns the old value of a property, if the old object has it. */
export function oldProperty(old: OldValue, key: string): OldValue {
  if (old === NO_OLD_VALUE || !isObject(old)) return NO_OLD_VALUE;
  const value = old[key];
  return value === undefined || typeof value === 'function' ? NO_OLD_VALUE : value;
}

/**
 * Returns a function that finds the old item for a new one. Only items of map lists that have all their keys can be correlated;
 * of duplicates, the first counts.
 */
export function itemCorrelator(node: SchemaNode, old: OldValue): ((item: JsonValue) => OldValue) | undefined {
  if (node.listType !== 'map' || !Array.isArray(old)) return undefined;
  let index: Map<string, JsonObject> | undefined;
  return (item) => {
    if (!isObject(item) || !hasKeys(node.listMapKeys, item)) return NO_OLD_VALUE;
    if (index === undefined) {
      index = new Map();
      for (const oldItem of old) {
        if (!isObject(oldItem) || !hasKeys(node.listMapKeys, oldItem)) continue;
        const key = keyOf(node.listMapKeys, oldItem);
        if (!index.has(key)) index.set(key, oldItem);
      }
    }
    return index.get(keyOf(node.listMapKeys, item)) ?? NO_OLD_VALUE;
  };
}

/** Reports whether an item has all its keys, and they are scalars. */
const hasKeys = (keys: readonly string[], item: JsonObject): boolean =>
  keys.every((key) => {
    const value = item[key];
    if (value instanceof Float) return true;
    return value !== undefined && typeof value !== 'object' && typeof value !== 'function';
  });

/** Returns the values of an item's keys as one text; different values have different texts. */
export function keyOf(keys: readonly string[], item: JsonObject): string {
  let text = '';
  for (const key of keys) {
    const value = item[key];
    if (value === undefined || typeof value === 'function') text += 'u;';
    else if (typeof value === 'string') text += `s${String(value.length)}:${value};`;
    else if (value instanceof Float || (typeof value === 'number' && !Number.isSafeInteger(value)))
      text += `f${String(value)};`;
    else if (typeof value === 'object') text += `j${compound(value)};`;
    else text += `${typeof value === 'boolean' ? 'b' : 'n'}${String(value)};`;
  }
  return text;
}

function compound(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(compound).join(',')}]`;
  if (!isObject(value)) return typeof value === 'bigint' ? value.toString() : JSON.stringify(value);
  const keys = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${compound(value[key] as JsonValue)}`).join(',')}}`;
}

/**
 * Reports whether an update left the value unchanged, as kube-apiserver compares: items of map lists by key, regardless of their
 * order, and objects only as far as the schema specifies their fields (an unknown field counts as a change).
 */
export function unchanged(node: SchemaNode | undefined, value: JsonValue, old: OldValue): boolean {
  if (old === NO_OLD_VALUE) return false;
  if (value === null || old === null) return value === old;
  if (Array.isArray(value)) {
    if (!Array.isArray(old) || value.length !== old.length) return false;
    const correlate = node?.items === undefined ? undefined : itemCorrelator(node, old);
    if (correlate === undefined) return deepEqual(old, value);
    return value.every((item) => unchanged(node?.items, item, correlate(item)));
  }
  if (!isObject(value)) return deepEqual(old, value);
  if (!isObject(old) || size(value) !== size(old)) return false;
  for (const key in value) {
    const member = value[key];
    if (member === undefined) continue;
    const additional = node?.additional;
    const child = node?.properties?.get(key) ?? (typeof additional === 'object' ? additional : undefined);
    if (child === undefined || !unchanged(child, member, oldProperty(old, key))) return false;
  }
  return true;
}

function size(value: JsonObject): number {
  let count = 0;
  for (const key in value) if (value[key] !== undefined) count++;
  return count;
}
