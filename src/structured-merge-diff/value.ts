import { isObject, type JsonObject, type JsonValue } from '../apimachinery/json/json.js';
import { compareUtf8 } from '../apimachinery/meta/meta.js';

/** Returns the rank of a value's type in the order of values. */
function rank(value: JsonValue): number {
  if (typeof value === 'number' || typeof value === 'bigint') return 0;
  if (typeof value === 'string') return 1;
  if (typeof value === 'boolean') return 2;
  if (value === null) return 5;
  return Array.isArray(value) ? 3 : 4;
}

/** Compares JSON values in a total order: numbers, strings, booleans, lists, maps, null. */
export function compareValues(a: JsonValue, b: JsonValue): number {
  if (typeof a === 'string' && typeof b === 'string') return compareUtf8(a, b);
  const byType = rank(a) - rank(b);
  if (byType !== 0) return byType;
  if (Array.isArray(a) && Array.isArray(b)) return compareLists(a, b);
  if (isObject(a) && isObject(b)) return compareMaps(a, b);
  if (a === null || b === null || a === b) return 0;
  // Compared with a float, an integer beyond 2^53 counts as a float.
  if (typeof a !== typeof b) return compareValues(Number(a), Number(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareLists(a: readonly JsonValue[], b: readonly JsonValue[]): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const order = compareValues(a[i] ?? null, b[i] ?? null);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareMaps(a: JsonObject, b: JsonObject): number {
  const keys = sortedKeys(a);
  const others = sortedKeys(b);
  const length = Math.min(keys.length, others.length);
  for (let i = 0; i < length; i++) {
    const key = keys[i] ?? '';
    const byKey = compareUtf8(key, others[i] ?? '');
    // The other map has no such key, so the map with the smaller key is the smaller one.
    if (byKey !== 0) return byKey;
    const order = compareValues(a[key] ?? null, b[key] ?? null);
    if (order !== 0) return order;
  }
  return keys.length - others.length;
}

export function sortedKeys(map: JsonObject): string[] {
  return Object.keys(map)
    .filter((key) => map[key] !== undefined)
    .sort(compareUtf8);
}

const UNSAFE = /[<>&\u2028\u2029\b\f]/;

/** Formats a string for serialized path elements: JSON with `<`, `>`, `&` and some others escaped by number. */
function elementString(text: string): string {
  const json = JSON.stringify(text);
  if (!UNSAFE.test(text)) return json;
  return json
    .replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(/\\\\|\\b|\\f/g, (c) => (c === '\\b' ? '\\u0008' : c === '\\f' ? '\\u000c' : c));
}

/** Reports whether an equal number may be written differently: -0 and 0, integers beyond 2^53 and floats. */
export const hasAlternateText = (value: JsonValue | undefined): boolean =>
  typeof value === 'bigint' ||
  (typeof value === 'number' && (value === 0 || (!Number.isSafeInteger(value) && Number.isInteger(value))));

/** Formats a value for serialized path elements; the keys of maps are sorted. */
export function elementText(value: JsonValue): string {
  if (typeof value === 'string') return elementString(value);
  // Exponents have at least two digits.
  if (typeof value === 'number' && !Number.isInteger(value)) return String(value).replace(/e-(\d)$/, 'e-0$1');
  if (Object.is(value, -0)) return '-0';
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map(elementText).join(',')}]`;
  const members = sortedKeys(value).map((key) => `${elementString(key)}:${elementText(value[key] ?? null)}`);
  return `{${members.join(',')}}`;
}

/** Reports whether a map is empty; members that are undefined do not count. */
export function isEmptyMap(map: JsonObject): boolean {
  for (const key in map) if (map[key] !== undefined) return false;
  return true;
}
