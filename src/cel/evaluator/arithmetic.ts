import { CostExceeded, work } from '../work.js';
import type { Integer } from '../values/integer.js';
import { MAX_UINT } from '../values/integer.js';
import * as ints from '../values/integer.js';
import { between, duration, shift } from '../values/time.js';
import type { Value } from '../values/value.js';
import { ArrayList, CelError, CelList, Double, Duration, NO_SUCH_OVERLOAD, Timestamp, Uint } from '../values/value.js';

export const INT_OVERFLOW = new CelError('integer overflow');
export const UINT_OVERFLOW = new CelError('unsigned integer overflow');
const DIVISION_BY_ZERO = new CelError('division by zero');
const MODULUS_BY_ZERO = new CelError('modulus by zero');

const isInt = (value: Value): value is Integer => typeof value === 'number' || typeof value === 'bigint';
const signed = (value: Integer | undefined): Value => value ?? INT_OVERFLOW;
const unsigned = (value: bigint): Value => (value < 0n || value > MAX_UINT ? UINT_OVERFLOW : new Uint(value));

/** A list that is two lists; made by `+`, so that adding is cheap. */
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
/** Looking at every element of a longer list would cost more than one call may. */
const MAX_ELEMENTS = 1_000_000;

/** Chains of concatenations are flattened, so that access does not recurse deeply. */
function concatenate(a: CelList, b: CelList): Value {
  if (a.size + b.size > MAX_ELEMENTS) throw new CostExceeded();
  if (a.concat !== undefined) return a.concat(b);
  if (a.size === 0) return b;
  if (b.size === 0) return a;
  const depth = Math.max(a instanceof Concatenation ? a.depth : 0, b instanceof Concatenation ? b.depth : 0) + 1;
  if (depth <= MAX_CHAIN) return new Concatenation(a, b, depth);
  work(a.size + b.size);
  return new ArrayList([...a, ...b]);
}

function joinBytes(a: Uint8Array, b: Uint8Array): Uint8Array {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}

export function add(a: Value, b: Value): Value {
  if (isInt(a)) return isInt(b) ? signed(ints.add(a, b)) : NO_SUCH_OVERLOAD;
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
  if (isInt(a)) return isInt(b) ? signed(ints.subtract(a, b)) : NO_SUCH_OVERLOAD;
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
  if (isInt(a)) return isInt(b) ? signed(ints.multiply(a, b)) : NO_SUCH_OVERLOAD;
  if (a instanceof Double && b instanceof Double) return new Double(a.value * b.value);
  if (a instanceof Uint && b instanceof Uint) return unsigned(a.value * b.value);
  return NO_SUCH_OVERLOAD;
}

export function divide(a: Value, b: Value): Value {
  if (isInt(a)) {
    if (!isInt(b)) return NO_SUCH_OVERLOAD;
    return b === 0 ? DIVISION_BY_ZERO : signed(ints.divide(a, b));
  }
  if (a instanceof Double && b instanceof Double) return new Double(a.value / b.value);
  if (a instanceof Uint && b instanceof Uint) return b.value === 0n ? DIVISION_BY_ZERO : new Uint(a.value / b.value);
  return NO_SUCH_OVERLOAD;
}

export function modulo(a: Value, b: Value): Value {
  if (isInt(a)) {
    if (!isInt(b)) return NO_SUCH_OVERLOAD;
    return b === 0 ? MODULUS_BY_ZERO : signed(ints.modulo(a, b));
  }
  if (a instanceof Uint && b instanceof Uint) return b.value === 0n ? MODULUS_BY_ZERO : new Uint(a.value % b.value);
  return NO_SUCH_OVERLOAD;
}

export function negate(a: Value): Value {
  if (isInt(a)) return signed(ints.subtract(0, a));
  if (a instanceof Double) return new Double(-a.value);
  return NO_SUCH_OVERLOAD;
}
