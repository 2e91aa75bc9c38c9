import type { Value } from '../values/value.js';
import {
  CelError,
  CelList,
  CelMap,
  Double,
  Duration,
  NO_SUCH_OVERLOAD,
  Opaque,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
} from '../values/value.js';
import { compareBytes, compareText } from '../values/text.js';
import { compareTimestamps } from '../values/time.js';
import { work, workOnText } from '../work.js';

export const NAN_ORDER = new CelError('NaN values cannot be ordered');

/** The number that a numeric value is compared by; undefined for other values. */
function numeric(value: Value): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (value instanceof Uint || value instanceof Double) return value.value;
  return undefined;
}

/** Integers of either sign compare exactly; against a double, both sides are doubles. */
function compareNumbers(a: Value, b: Value): number | undefined {
  let x = numeric(a);
  let y = numeric(b);
  if (x === undefined || y === undefined) return undefined;
  if (a instanceof Double || b instanceof Double) {
    x = Number(x);
    y = Number(y);
  }
  return x < y ? -1 : x > y ? 1 : x == y ? 0 : NaN;
}

/** The language's `==`. Values of different types are unequal; numbers compare by value. */
export function equal(a: Value, b: Value): boolean | CelError {
  if (typeof a === 'string') {
    if (a.length > 256 && typeof b === 'string' && a.length === b.length) workOnText(a.length);
    return a === b;
  }
  if (a === b) return true;
  const kind = typeof a;
  if (kind === 'boolean' || a === null || b === null) return false;
  if (a instanceof CelList) return b instanceof CelList ? equalLists(a, b) : false;
  if (a instanceof CelMap) return b instanceof CelMap ? equalMaps(a, b) : false;
  const order = compareNumbers(a, b);
  if (order !== undefined) return order === 0;
  return equalOther(a, b);
}

function equalOther(a: Value, b: Value): boolean | CelError {
  if (a instanceof Uint8Array) return b instanceof Uint8Array && compareBytes(a, b) === 0;
  if (a instanceof Timestamp) return b instanceof Timestamp && compareTimestamps(a, b) === 0;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  if (a instanceof Optional) return b instanceof Optional && equalOptionals(a, b) === true;
  if (a instanceof Opaque) return a.equals(b);
  return a instanceof CelError ? a : false;
}

function equalOptionals(a: Optional, b: Optional): boolean | CelError {
  if (a.value === undefined || b.value === undefined) return a.value === b.value;
  return equal(a.value, b.value);
}

function equalLists(a: CelList, b: CelList): boolean | CelError {
  if (a.equals !== undefined) return a.equals(b);
  work(a.size);
  if (a.size !== b.size) return false;
  for (let i = 0; i < a.size; i++) if (equal(a.get(i), b.get(i)) === false) return false;
  return true;
}

function equalMaps(a: CelMap, b: CelMap): boolean | CelError {
  if (a.equals !== undefined) return a.equals(b);
  work(a.size * 2);
  if (a.size !== b.size) return false;
  for (const key of a.keys()) {
    const theirs = b.find(key);
    if (theirs === undefined) return false;
    if (equal(a.find(key) ?? null, theirs) === false) return false;
  }
  return true;
}

/** Order of two values: negative, 0 or positive; an error if they have none. */
export function compare(a: Value, b: Value): number | CelError {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string') return typeof b === 'string' ? compareText(a, b) : NO_SUCH_OVERLOAD;
  if (typeof a === 'boolean') return typeof b === 'boolean' ? Number(a) - Number(b) : NO_SUCH_OVERLOAD;
  const order = compareNumbers(a, b);
  if (order !== undefined) return Number.isNaN(order) ? NAN_ORDER : order;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b);
  if (a instanceof Timestamp && b instanceof Timestamp) return compareTimestamps(a, b);
  if (a instanceof Duration && b instanceof Duration) return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;
  return NO_SUCH_OVERLOAD;
}

/** The language's `in`. */
export function contains(container: Value, item: Value): boolean | CelError {
  if (container instanceof CelMap) {
    const found = container.find(item);
    return found instanceof CelError ? found : found !== undefined;
  }
  if (!(container instanceof CelList)) return NO_SUCH_OVERLOAD;
  const size = container.size;
  work(size);
  for (let i = 0; i < size; i++) if (equal(container.get(i), item) === true) return true;
  return false;
}
