import * as ints from './integer.js';
import type { Value } from './value.js';
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
  ArrayList,
} from './value.js';
import { compareText } from './text.js';
import { compareTimestamps, between, duration, shift } from './time.js';
import { chargeWork, chargeText, CostExceeded } from '../work.js';
import { type Integer, isInteger, MAX_UINT } from './integer.js';

const NAN_ORDER = new CelError('NaN values cannot be ordered');

/** The numeric value used in comparisons, or undefined for values that are not numbers. */
function numeric(value: Value): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (value instanceof Uint || value instanceof Double) return value.value;
  return undefined;
}

/** Compares numbers. Ints and uints compare exactly; if one side is a double, both are compared as doubles. */
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

/** The CEL operator `==`. Values of different types are unequal; numbers compare by value. */
export function equal(a: Value, b: Value): boolean | CelError {
  if (typeof a === 'string') {
    if (a.length > 256 && typeof b === 'string' && a.length === b.length) chargeText(a.length);
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
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
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
  chargeWork(a.size);
  if (a.size !== b.size) return false;
  for (let i = 0; i < a.size; i++) if (equal(a.get(i), b.get(i)) === false) return false;
  return true;
}

function equalMaps(a: CelMap, b: CelMap): boolean | CelError {
  if (a.equals !== undefined) return a.equals(b);
  chargeWork(a.size * 2);
  if (a.size !== b.size) return false;
  for (const key of a.keys()) {
    const theirs = b.find(key);
    if (theirs === undefined) return false;
    if (equal(a.find(key) ?? null, theirs) === false) return false;
  }
  return true;
}

/** Orders two values: negative, 0 or positive, or an error if they have no order. */
export function compare(a: Value, b: Value): number | CelError {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string') return typeof b === 'string' ? compareText(a, b) : NO_SUCH_OVERLOAD;
  if (typeof a === 'boolean') return typeof b === 'boolean' ? Number(a) - Number(b) : NO_SUCH_OVERLOAD;
  const order = compareNumbers(a, b);
  if (order !== undefined) return Number.isNaN(order) ? NAN_ORDER : order;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  if (a instanceof Timestamp && b instanceof Timestamp) return compareTimestamps(a, b);
  if (a instanceof Duration && b instanceof Duration) return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;
  return NO_SUCH_OVERLOAD;
}

/** The CEL operator `in`. */
export function contains(container: Value, item: Value): boolean | CelError {
  if (container instanceof CelMap) {
    const found = container.find(item);
    return found instanceof CelError ? found : found !== undefined;
  }
  if (!(container instanceof CelList)) return NO_SUCH_OVERLOAD;
  const size = container.size;
  chargeWork(size);
  // A list with its own equality compares from the side of the element, any other list from the side of the item.
  const asksElements = container.equals !== undefined;
  for (let i = 0; i < size; i++) {
    const element = container.get(i);
    if ((asksElements ? equal(element, item) : equal(item, element)) === true) return true;
  }
  return false;
}

export const INT_OVERFLOW = new CelError('integer overflow');
export const UINT_OVERFLOW = new CelError('unsigned integer overflow');
const DIVISION_BY_ZERO = new CelError('division by zero');
const MODULUS_BY_ZERO = new CelError('modulus by zero');

const signed = (value: Integer | undefined): Value => value ?? INT_OVERFLOW;
const unsigned = (value: bigint): Value => (value < 0n || value > MAX_UINT ? UINT_OVERFLOW : new Uint(value));

/** The concatenation of two lists without copying, so that `+` is cheap. */
class Concatenation extends CelList {
  readonly size: number;
  constructor(
    private readonly first: CelList,
    private readonly second: CelList,
    readonly depth: number,
  ) {
    super();
    this.size = first.size + second.size;
  }

  get(index: number): Value {
    return index < this.first.size ? this.first.get(index) : this.second.get(index - this.first.size);
  }
}

const MAX_CHAIN = 16;
/** The maximum number of elements: traversing a longer list would cost more than one call may. */
const MAX_ELEMENTS = 1_000_000;

/** Concatenates two lists. Long chains are flattened, so that access does not recurse deeply. */
function concatenate(a: CelList, b: CelList): Value {
  if (a.size + b.size > MAX_ELEMENTS) throw new CostExceeded();
  if (a.concat !== undefined) return a.concat(b);
  if (a.size === 0) return b;
  if (b.size === 0) return a;
  const depth = Math.max(a instanceof Concatenation ? a.depth : 0, b instanceof Concatenation ? b.depth : 0) + 1;
  if (depth <= MAX_CHAIN) return new Concatenation(a, b, depth);
  chargeWork(a.size + b.size);
  return new ArrayList([...a, ...b]);
}

function joinBytes(a: Uint8Array, b: Uint8Array): Uint8Array {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}

export function add(a: Value, b: Value): Value {
  if (isInteger(a)) return isInteger(b) ? signed(ints.add(a, b)) : NO_SUCH_OVERLOAD;
  if (typeof a === 'string') return typeof b === 'string' ? a + b : NO_SUCH_OVERLOAD;
  if (a instanceof CelList) return b instanceof CelList ? concatenate(a, b) : NO_SUCH_OVERLOAD;
  if (a instanceof Double && b instanceof Double) return new Double(a.value + b.value);
  if (a instanceof Uint && b instanceof Uint) return unsigned(a.value + b.value);
  if (a instanceof Duration) {
    if (b instanceof Duration) return duration(a.nanos + b.nanos);
    if (b instanceof Timestamp) return shift(b, a.nanos);
  }
  if (a instanceof Timestamp && b instanceof Duration) return shift(a, b.nanos);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return joinBytes(a, b);
  return NO_SUCH_OVERLOAD;
}

export function subtract(a: Value, b: Value): Value {
  if (isInteger(a)) return isInteger(b) ? signed(ints.subtract(a, b)) : NO_SUCH_OVERLOAD;
  if (a instanceof Double && b instanceof Double) return new Double(a.value - b.value);
  if (a instanceof Uint && b instanceof Uint) return unsigned(a.value - b.value);
  if (a instanceof Duration && b instanceof Duration) return duration(a.nanos - b.nanos);
  if (a instanceof Timestamp) {
    if (b instanceof Duration) return shift(a, -b.nanos);
    if (b instanceof Timestamp) return between(a, b);
  }
  return NO_SUCH_OVERLOAD;
}

export function multiply(a: Value, b: Value): Value {
  if (isInteger(a)) return isInteger(b) ? signed(ints.multiply(a, b)) : NO_SUCH_OVERLOAD;
  if (a instanceof Double && b instanceof Double) return new Double(a.value * b.value);
  if (a instanceof Uint && b instanceof Uint) return unsigned(a.value * b.value);
  return NO_SUCH_OVERLOAD;
}

export function divide(a: Value, b: Value): Value {
  if (isInteger(a)) {
    if (!isInteger(b)) return NO_SUCH_OVERLOAD;
    return b === 0 ? DIVISION_BY_ZERO : signed(ints.divide(a, b));
  }
  if (a instanceof Double && b instanceof Double) return new Double(a.value / b.value);
  if (a instanceof Uint && b instanceof Uint) return b.value === 0n ? DIVISION_BY_ZERO : new Uint(a.value / b.value);
  return NO_SUCH_OVERLOAD;
}

export function modulo(a: Value, b: Value): Value {
  if (isInteger(a)) {
    if (!isInteger(b)) return NO_SUCH_OVERLOAD;
    return b === 0 ? MODULUS_BY_ZERO : signed(ints.modulo(a, b));
  }
  if (a instanceof Uint && b instanceof Uint) return b.value === 0n ? MODULUS_BY_ZERO : new Uint(a.value % b.value);
  return NO_SUCH_OVERLOAD;
}

export function negate(a: Value): Value {
  if (isInteger(a)) return signed(ints.subtract(0, a));
  if (a instanceof Double) return new Double(-a.value);
  return NO_SUCH_OVERLOAD;
}
