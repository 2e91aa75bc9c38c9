import { MAX_INT64 } from '../../go/int64.js';
import { getOwn } from '../../util/get-own.js';

/** An invalid quantity; the message is Go's. */
export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

type Format = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/** Longer texts, in characters, are rejected before anything is computed with them. */
const MAX_LENGTH = 1024;

/** Larger exponents are not expanded into digits; no resource needs them. */
const MAX_EXPONENT = 4096;

const BINARY: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
const DECIMAL: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const DECIMAL_SUFFIX = new Map(Object.entries(DECIMAL).map(([suffix, exponent]) => [exponent, suffix]));
const BINARY_SUFFIX = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

const NANO = -9;
/** Go keeps amounts below this as an int64 and an exponent. */
const MAX_SHORT = 10n ** 18n;

interface Suffix {
  readonly base: 2 | 10;
  readonly exponent: number;
  readonly format: Format;
}

function interpretSuffix(suffix: string): Suffix {
  const binary = getOwn(BINARY, suffix);
  if (binary !== undefined) return { base: 2, exponent: binary, format: 'BinarySI' };
  const decimal = getOwn(DECIMAL, suffix);
  if (decimal !== undefined) return { base: 10, exponent: decimal, format: 'DecimalSI' };
  const match = /^[eE]([-+]?[0-9]+)$/.exec(suffix);
  const exponent = Number(match?.[1] ?? Number.NaN);
  if (Number.isNaN(exponent)) throw new QuantityError("unable to parse quantity's suffix");
  if (Math.abs(exponent) > MAX_EXPONENT) throw new QuantityError('unable to parse numeric part of quantity');
  return { base: 10, exponent, format: 'DecimalExponent' };
}

const power10 = (exponent: number): bigint => 10n ** BigInt(exponent);

/** Rounds to billionths, away from zero, so that a nonzero amount never becomes zero. */
function roundToNano(unscaled: bigint, exponent: number): { unscaled: bigint; exponent: number } {
  if (exponent >= NANO) return { unscaled, exponent };
  const divisor = power10(NANO - exponent);
  const rest = unscaled % divisor;
  const quotient = unscaled / divisor;
  const up = rest === 0n ? 0n : unscaled < 0n ? -1n : 1n;
  return { unscaled: quotient + up, exponent: NANO };
}

/** A resource quantity: `unscaled` times ten to the power of `exponent`, and the format in which it is written. Immutable. */
export class Quantity {
  private constructor(
    readonly unscaled: bigint,
    readonly exponent: number,
    readonly format: Format,
    /** The given text, if it is already canonical. */
    private readonly text: string | undefined,
  ) {}

  static readonly zero = new Quantity(0n, 0, 'DecimalSI', '0');

  static of(unscaled: bigint, exponent = 0, format: Format = 'DecimalSI'): Quantity {
    return new Quantity(unscaled, exponent, format, undefined);
  }

  /** Parses a quantity. Throws QuantityError. */
  static parse(text: string): Quantity {
    if (text === '0') return Quantity.zero;
    const match =
      text.length > MAX_LENGTH ? null : /^([-+]?)([0-9]*)(\.[0-9]*)?([eEinumkKMGTP]*[-+]?[0-9]*)$/.exec(text);
    if (text === '' || match === null) throw new QuantityError(FORMAT_WRONG);
    const negative = match[1] === '-';
    const whole = (match[2] ?? '').replace(/^0+/, '');
    const fraction = (match[3] ?? '').slice(1);
    const suffixText = match[4] ?? '';
    const numerator = whole === '' ? '0' : whole;
    if (match[3] === undefined && suffixText === '' && whole === '') return Quantity.of(0n);
    const suffix = interpretSuffix(suffixText);
    const digits = BigInt(numerator + fraction);
    // Go's parser for large numbers requires at least one digit; the one for small numbers does not.
    const bare = match[2] === '' && fraction === '';
    if (bare && (suffix.base === 2 ? suffix.exponent > 40 : suffix.exponent < NANO)) {
      throw new QuantityError('unable to parse numeric part of quantity');
    }
    const value = negative ? -digits : digits;
    if (suffix.base === 2) return Quantity.binary(text, value, digits, numerator, fraction, suffix.exponent);
    return Quantity.decimal(text, value, numerator + fraction, suffix.exponent - fraction.length, suffix.format);
  }

  private static decimal(text: string, value: bigint, digits: string, exponent: number, format: Format): Quantity {
    const exact = digits.length <= 18 && exponent >= NANO;
    const canonical = exact && exponent % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0');
    const rounded = roundToNano(value, exponent);
    return new Quantity(rounded.unscaled, rounded.exponent, format, canonical ? text : undefined);
  }

  private static binary(
    text: string,
    value: bigint,
    digits: bigint,
    numerator: string,
    fraction: string,
    exponent: number,
  ): Quantity {
    const scaled = value << BigInt(exponent);
    const fast = fraction === '' && 15 - numerator.length - Math.trunc((exponent * 3) / 10) - 1 >= 0;
    if (fast) return new Quantity(scaled, 0, 'BinarySI', (digits & 7n) === 0n ? undefined : text);
    const rounded = roundToNano(scaled, -fraction.length);
    const size = rounded.unscaled < 0n ? -rounded.unscaled : rounded.unscaled;
    const limit = MAX_INT64 * power10(-rounded.exponent);
    const sign = rounded.unscaled < 0n ? -1n : 1n;
    if (size > limit) return new Quantity(sign * MAX_INT64, 0, 'BinarySI', undefined);
    // Below one, the binary format would need rounding.
    const format = size > 0n && size < power10(-rounded.exponent) ? 'DecimalSI' : 'BinarySI';
    return new Quantity(rounded.unscaled, rounded.exponent, format, undefined);
  }

  get sign(): -1 | 0 | 1 {
    return this.unscaled === 0n ? 0 : this.unscaled < 0n ? -1 : 1;
  }

  compare(other: Quantity): number {
    const exponent = Math.min(this.exponent, other.exponent);
    const left = this.unscaled * power10(this.exponent - exponent);
    const right = other.unscaled * power10(other.exponent - exponent);
    return left === right ? 0 : left < right ? -1 : 1;
  }

  add(other: Quantity): Quantity {
    const exponent = Math.min(this.exponent, other.exponent);
    const sum = this.unscaled * power10(this.exponent - exponent) + other.unscaled * power10(other.exponent - exponent);
    return Quantity.of(sum, exponent, this.unscaled === 0n ? other.format : this.format);
  }

  negate(): Quantity {
    return Quantity.of(-this.unscaled, this.exponent, this.format);
  }

  /** Returns the value as an integer, or undefined if it is not one. */
  asInteger(): bigint | undefined {
    if (this.exponent >= 0) return this.unscaled * power10(this.exponent);
    const divisor = power10(-this.exponent);
    return this.unscaled % divisor === 0n ? this.unscaled / divisor : undefined;
  }

  /** Returns the value rounded to an integer, away from zero. */
  roundedUp(): bigint {
    const whole = this.asInteger();
    if (whole !== undefined) return whole;
    const quotient = this.unscaled / power10(-this.exponent);
    return this.unscaled < 0n ? quotient - 1n : quotient + 1n;
  }

  /** Returns roundedUp() as Go's int64. A value that does not fit becomes 0 if its digits are few enough for an int64, else its lower 64 bits. */
  toInt64(): bigint {
    const whole = this.roundedUp();
    const wrapped = BigInt.asIntN(64, whole);
    const isShort = this.unscaled > -MAX_SHORT && this.unscaled < MAX_SHORT;
    return whole !== wrapped && isShort ? 0n : wrapped;
  }

  /** Returns the value rounded to a multiple of that power of ten, away from zero. */
  roundedUpTo(exponent: number): Quantity {
    if (this.exponent >= exponent) return this;
    const scale = power10(exponent - this.exponent);
    const quotient = this.unscaled / scale;
    if (quotient * scale === this.unscaled) return this;
    return Quantity.of(quotient + (this.unscaled < 0n ? -1n : 1n), exponent, this.format);
  }

  /** Returns the canonical text, as kube-apiserver does. */
  toString(): string {
    if (this.text !== undefined) return this.text;
    if (this.unscaled === 0n) return '0';
    if (this.format === 'BinarySI') {
      const whole = this.asInteger();
      if (whole !== undefined && (whole <= -1024n || whole >= 1024n)) return formatBinary(whole);
    }
    return formatDecimal(this.unscaled, this.exponent, this.format === 'DecimalExponent');
  }
}

function formatBinary(whole: bigint): string {
  let value = whole;
  let times = 0;
  while (times < BINARY_SUFFIX.length - 1 && value % 1024n === 0n) {
    value /= 1024n;
    times++;
  }
  return `${value.toString()}${BINARY_SUFFIX[times] ?? ''}`;
}

function formatDecimal(unscaled: bigint, exponent: number, scientific: boolean): string {
  let mantissa = unscaled;
  let power = exponent;
  while (mantissa % 10n === 0n) {
    mantissa /= 10n;
    power++;
  }
  const over = ((power % 3) + 3) % 3;
  mantissa *= power10(over);
  power -= over;
  if (scientific) return power === 0 ? mantissa.toString() : `${mantissa.toString()}e${power}`;
  return `${mantissa.toString()}${DECIMAL_SUFFIX.get(power) ?? ''}`;
}

/** Returns the canonical text of a quantity. Throws QuantityError. */
export function canonicalQuantity(text: string): string {
  return Quantity.parse(text).toString();
}
