/** A 64-bit signed integer: a number if that is exact, otherwise a bigint. Every value has exactly one representation. */
export type Integer = number | bigint;

export const isInteger = (value: unknown): value is Integer => typeof value === 'number' || typeof value === 'bigint';

export const MIN_INT = -0x8000000000000000n;
export const MAX_INT = 0x7fffffffffffffffn;
export const MAX_UINT = 0xffffffffffffffffn;

const SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** Returns the integer in its canonical representation, or undefined if it does not fit into 64 bits. */
export function integer(value: bigint): Integer | undefined {
  if (value <= SAFE && value >= -SAFE) return Number(value);
  return value < MIN_INT || value > MAX_INT ? undefined : value;
}

/** Computes a result outside of the range in which numbers are exact. */
function exact(a: Integer, b: Integer, operation: (a: bigint, b: bigint) => bigint): Integer | undefined {
  return integer(operation(BigInt(a), BigInt(b)));
}

/** Adds two integers. Returns undefined on overflow, as do the other operations. */
export function add(a: Integer, b: Integer): Integer | undefined {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return exact(a, b, (x, y) => x + y);
}

export function subtract(a: Integer, b: Integer): Integer | undefined {
  if (typeof a === 'number' && typeof b === 'number') {
    const difference = a - b;
    if (Number.isSafeInteger(difference)) return difference;
  }
  return exact(a, b, (x, y) => x - y);
}

export function multiply(a: Integer, b: Integer): Integer | undefined {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b;
    if (Number.isSafeInteger(product)) return product + 0;
  }
  return exact(a, b, (x, y) => x * y);
}

/** Divides, rounding toward zero. The divisor must not be zero. */
export function divide(a: Integer, b: Integer): Integer | undefined {
  if (typeof a === 'number' && typeof b === 'number') return Math.trunc(a / b) + 0;
  return exact(a, b, (x, y) => x / y);
}

/** The remainder of a division; it has the sign of the dividend. The divisor must not be zero. */
export function modulo(a: Integer, b: Integer): Integer | undefined {
  if (typeof a === 'number' && typeof b === 'number') return (a % b) + 0;
  if (a === MIN_INT && b === -1) return undefined;
  return exact(a, b, (x, y) => x % y);
}

const MAX_DIGITS = 20;

/** Parses digits with an optional sign. Returns undefined if there are more digits than a 64-bit integer can have. */
export function shortInteger(text: string): bigint | undefined {
  const digits = text.replace(/^[+-]?0*/, '');
  if (digits.length > MAX_DIGITS) return undefined;
  const value = BigInt(digits === '' ? '0' : digits);
  return text.startsWith('-') ? -value : value;
}
