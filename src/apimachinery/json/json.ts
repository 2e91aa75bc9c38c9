/**
 * The shapes of decoded JSON. An integer beyond 2^53 is held as a bigint, so that every 64-bit value survives
 * a round trip; every other number is a JavaScript number.
 */
export type JsonValue = string | number | bigint | boolean | null | JsonValue[] | JsonObject;

export interface JsonObject {
  [key: string]: JsonValue | undefined;
  [FACTS]?: Facts;
}

/** The key of an object's facts. JSON, `for … in`, and comparisons skip it; a spread and `deepCopy` include it. */
export const FACTS: unique symbol = Symbol('facts');

/** Information about a decoded object that its members do not contain (docs/design/object-facts.md). Copies share it. */
export interface Facts {
  /** The paths of whole numbers that were written as floats (`float.ts`). */
  readonly floats?: readonly (readonly string[])[];
  /** Members of a struct that were given but are not written, because they are empty (`empty-members.ts`). */
  readonly emptyMembers?: JsonObject;
  /**
   * Set if it was given members that are not visible when it is read again, such as empty lists in metadata or nulls, so that it
   * differs from the stored object. kube-apiserver stores most of them, and then finds something to write in the next request
   * that changes nothing; Annex stores only this fact.
   */
  readonly unseenMembers?: 'stored' | 'dropped';
  /** Set if its type adds something whenever the object is returned, so that it is not sent as stored. */
  readonly incomplete?: true;
  /** Set if an apply produced it. It may have fields that the schema does not know, until only the store still reads it. */
  readonly unpruned?: boolean;
  /** Set if admission changed it. It may have fields that the schema does not know, which validating admission still sees. */
  readonly mutated?: true;
  /** Of metadata: what a write put there that is not of the field's type, and why. It is left out, and validation refuses it. */
  readonly unreadable?: { readonly members: JsonObject; readonly error: string };
}

export function addFacts(object: JsonObject, facts: Facts): void {
  object[FACTS] = { ...object[FACTS], ...facts };
}

/**
 * A float64 with a whole value, as Kubernetes' decoder of unstructured objects reads `1.0` and `1e3`. For schemas and rules it is
 * not an integer, but it is stored and sent as one. So objects contain plain numbers, and their facts record where such floats
 * are (`float.ts`); only a copy made for evaluation contains Floats.
 */
export class Float extends Number {}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Float);
}

/** Returns the object at a key; undefined if it is absent or not an object. */
export function objectAt(parent: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = parent?.[key];
  return isObject(value) ? value : undefined;
}

export function stringAt(parent: JsonObject | undefined, key: string): string | undefined {
  const value = parent?.[key];
  return typeof value === 'string' ? value : undefined;
}

/** Returns the string at a key; empty if it is absent or not a string. */
export function textAt(parent: JsonObject | undefined, key: string): string {
  const value = parent?.[key];
  return typeof value === 'string' ? value : '';
}

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

/** Returns a deep copy, facts included. structuredClone is several times slower on plain JSON. */
export function deepCopy<T extends JsonValue | undefined>(value: T): T {
  return copyValue(value) as T;
}

function copyValue(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const copy: JsonValue[] = new Array<JsonValue>(value.length);
    for (let i = 0; i < value.length; i++) copy[i] = copyValue(value[i]) as JsonValue;
    return copy;
  }
  const copy: JsonObject = {};
  let isEmpty = true;
  for (const key in value) {
    isEmpty = false;
    copy[key] = copyValue(value[key]);
  }
  const facts = value[FACTS];
  if (facts !== undefined) copy[FACTS] = facts;
  // Testing every object with instanceof would cost a third of the copy.
  return isEmpty && value instanceof Float ? value : copy;
}

type Bigints = 'exact' | 'as floats';

/** Returns a text that is equal for equal values, whatever the order of their keys: to find equal ones among many. */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value instanceof Float) return String(Number(value));
  if (!isObject(value)) return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`);
  }
  return `{${members.join(',')}}`;
}

/**
 * Reports whether two JSON values are deeply equal. The order of keys does not matter, and 1 equals 1n. An integer beyond 2^53
 * equals no float, even of the same value, unless it is compared as a float.
 */
export function deepEqual(a: JsonValue | undefined, b: JsonValue | undefined, bigints: Bigints = 'exact'): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    return typeof a === 'bigint' ? equalsNumber(a, b, bigints) : typeof b === 'bigint' && equalsNumber(b, a, bigints);
  }
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!deepEqual(a[i], b[i], bigints)) return false;
    return true;
  }
  if (Array.isArray(b)) return false;
  if (a instanceof Float || b instanceof Float)
    return a instanceof Float && b instanceof Float && Number(a) === Number(b);
  let count = 0;
  for (const key in a) {
    if (a[key] === undefined) continue;
    count++;
    if (!deepEqual(a[key], b[key], bigints)) return false;
  }
  for (const key in b) if (b[key] !== undefined) count--;
  return count === 0;
}

const equalsNumber = (a: bigint, b: JsonValue | undefined, bigints: Bigints): boolean =>
  typeof b === 'number' && (bigints === 'as floats' || Number.isSafeInteger(b)) && Number(a) === b;

/**
 * Returns the JSON text of a value. Values with a bigint take a slower path, because JSON.stringify rejects them. Undefined
 * members are omitted, as by JSON.stringify.
 */
export function stringifyJson(value: JsonValue): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof TypeError) return stringifyExact(value);
    throw error;
  }
}

function stringifyExact(value: JsonValue): string {
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return `[${value.map(stringifyExact).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members: string[] = [];
  for (const key in value) {
    const member = value[key];
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${stringifyExact(member)}`);
  }
  return `{${members.join(',')}}`;
}
