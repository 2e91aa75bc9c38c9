/**
 * The shapes of decoded JSON. An integer beyond 2^53 is held as a bigint, so that every 64-bit value survives
 * a round trip; every other number is a JavaScript number.
 */
export type JsonValue = string | number | bigint | boolean | null | JsonValue[] | JsonObject;

export interface JsonObject {
  [key: string]: JsonValue | undefined;
  [FACTS]?: Facts;
}

/** The key under which an object carries its facts: JSON, `for … in` and comparisons pass it over, a spread and `deepCopy` take it along. */
export const FACTS: unique symbol = Symbol('facts');

/** What is known of a decoded object and not said by its members (docs/design/object-facts.md). Copies share it. */
export interface Facts {
  /** Where whole numbers stand that were written as floats (`float.ts`). */
  readonly floats?: readonly (readonly string[])[];
  /** Members of a struct that were given, but are not written because they are empty (`empty-members.ts`). */
  readonly emptyMembers?: JsonObject;
  /**
   * It was given members that nobody sees when it is read again, such as empty lists in metadata or nulls, so it is not the object that
   * was there. kube-apiserver stores most of them and then finds something to write in the next request that changes nothing;
   * Annex stores the fact alone.
   */
  readonly unseenMembers?: 'stored' | 'dropped';
  /** Its type adds something whenever it shows the object: it is not sent as it is stored. */
  readonly incomplete?: true;
  /** An apply made it. It may have fields that the schema does not know, until nothing but the store looks at it. */
  readonly unpruned?: boolean;
  /** Admission changed it. It may have fields that the schema does not know, which validating admission still sees. */
  readonly mutated?: true;
  /** What is wrong with the metadata that an apply made: where an object is converted, it is read before it is stored. */
  readonly unreadable?: string;
}

export function addFacts(object: JsonObject, facts: Facts): void {
  object[FACTS] = { ...object[FACTS], ...facts };
}

/**
 * A float64 whose value is whole: what Kubernetes' decoder of unstructured objects makes of `1.0` and `1e3`. To schemas and rules it is
 * no integer, but what is stored and sent of it, is one. So objects hold plain numbers, and their facts say where such a float stands
 * (`float.ts`); only a copy that is judged holds these.
 */
export class Float extends Number {}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Float);
}

/** The object at a key, or undefined where there is none or it is something else. */
export function objectAt(parent: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = parent?.[key];
  return isObject(value) ? value : undefined;
}

export function stringAt(parent: JsonObject | undefined, key: string): string | undefined {
  const value = parent?.[key];
  return typeof value === 'string' ? value : undefined;
}

/** A deep copy, facts included; structuredClone is several times slower on plain JSON. */
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
  // To ask every object would cost a third of a copy.
  return isEmpty && value instanceof Float ? value : copy;
}

type Bigints = 'exact' | 'as floats';

/**
 * Deep equality of JSON values; the order of keys is immaterial, 1 and 1n are equal. An integer beyond 2^53 equals no float, though it may
 * be the same number, unless it is compared as a float.
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
 * JSON text of a value. Values that hold a bigint take a slower way, because JSON.stringify refuses them.
 * Undefined members are left out, as JSON.stringify does.
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
