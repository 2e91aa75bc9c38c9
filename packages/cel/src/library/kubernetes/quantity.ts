import { fn, type Implementation, method, overload } from '../../declarations.js';
import type { Library } from '../library.js';
import { BOOL, DOUBLE, INT, STRING, objectType } from '../../types.js';
import { integer, isInteger, MAX_INT, MIN_INT } from '../../values/integer.js';
import { CelError, Double, NO_SUCH_OVERLOAD, Opaque, type Value } from '../../values/value.js';
import { chargeWork } from '../../work.js';
import { onString } from '../helpers.js';
import { typeConstant } from '../standard.js';

const QUANTITY = objectType('kubernetes.Quantity');
/** The exponent of the smallest unit, a billionth. */
const SMALLEST_EXPONENT = -9;

/** Larger exponents are compared as if they were this large: the number would not fit into memory. */
const MAX_EXPONENT = 100;

/**
 * A Kubernetes quantity: `unscaled` times ten to the power of `exponent`. Kubernetes has two forms of it: a 64-bit mantissa with a scale, and a
 * decimal number of any length. The form and the scale, not only the value, decide whether a quantity counts as an integer.
 */
export class Quantity extends Opaque {
  readonly typeName = 'kubernetes.Quantity';
  /** The value in billionths, for comparisons. */
  readonly nanos: bigint;

  constructor(
    readonly unscaled: bigint,
    readonly exponent: number,
    /** True for the form with a 64-bit mantissa. */
    readonly small: boolean,
  ) {
    super();
    const power = Math.min(exponent, MAX_EXPONENT) - SMALLEST_EXPONENT;
    // A smaller exponent comes from adding a zero, and divides without a rest.
    this.nanos = power < 0 ? unscaled / 10n ** BigInt(-power) : unscaled * 10n ** BigInt(power);
  }

  equals(other: Value): boolean | CelError {
    return other instanceof Quantity ? this.nanos === other.nanos : NO_SUCH_OVERLOAD;
  }
}

const DECIMAL: Record<string, number> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY: Record<string, bigint> = { Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n, Pi: 50n, Ei: 60n };
const FORMAT_WRONG = `quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`;
interface Scale {
  readonly exponent: number;
  readonly shift: bigint;
}

function scaleOf(suffix: string): Scale | undefined {
  const decimal = DECIMAL[suffix];
  if (decimal !== undefined) return { exponent: decimal, shift: 0n };
  const binary = BINARY[suffix];
  if (binary !== undefined) return { exponent: 0, shift: binary };
  const power = /^[eE]([+-]?)0*(\d+)$/.exec(suffix);
  if (power === null) return undefined;
  const [, sign, digits = ''] = power;
  if (digits.length > 19) return undefined;
  const exponent = BigInt(`${sign === '-' ? '-' : ''}${digits}`);
  if (exponent > MAX_INT || exponent < MIN_INT) return undefined;
  return { exponent: Number(BigInt.asIntN(32, exponent)), shift: 0n };
}

/** Returns the form with a 64-bit mantissa, or undefined if Kubernetes does not use it for such a text. */
function smallOf(whole: string, fraction: string, { exponent, shift }: Scale): Quantity | undefined {
  const digits = whole.replace(/^0+/, '').length || 1;
  const precision =
    shift > 0n
      ? fraction === ''
        ? 15 - digits - Math.trunc((Number(shift) * 3) / 10) - 1
        : -1
      : 18 - (digits + fraction.length);
  const scale = exponent - fraction.length;
  if (precision < 0 || scale < SMALLEST_EXPONENT) return undefined;
  const mantissa = BigInt(whole + fraction || '0') << shift;
  return mantissa > MAX_INT ? undefined : new Quantity(mantissa, scale, true);
}

/** Returns the decimal form: in billionths, rounded away from zero. With a binary suffix it is capped at the largest 64-bit integer. */
function decimalOf(digits: string, places: number, { exponent, shift }: Scale): Quantity | CelError {
  if (digits === '') return new CelError('unable to parse numeric part of quantity');
  const scaled = BigInt(digits) << shift;
  const scale = Math.max(-MAX_EXPONENT, Math.min(MAX_EXPONENT, exponent)) - places;
  if (scaled === 0n) return new Quantity(0n, scale, false);
  const power = scale - SMALLEST_EXPONENT;
  const divisor = power < 0 ? 10n ** BigInt(-power) : 1n;
  const nanos = power < 0 ? (scaled + divisor - 1n) / divisor : scaled * 10n ** BigInt(power);
  if (shift > 0n && nanos > MAX_INT * 10n ** 9n) return new Quantity(MAX_INT, 0, false);
  return new Quantity(nanos, SMALLEST_EXPONENT, false);
}

// A suffix never begins with a digit, so that every string matches in only one way.
const QUANTITY_TEXT = /^([+-]?)(\d*)(?:\.(\d*))?((?:[eEinumkKMGTP]+[-+]?\d*|[-+]\d*)?)$/;

function parse(text: string): Quantity | CelError {
  chargeWork(text.length);
  const match = QUANTITY_TEXT.exec(text);
  if (text === '' || match === null) return new CelError(FORMAT_WRONG);
  const [, sign = '', whole = '', fraction = '', suffix = ''] = match;
  const scale = scaleOf(suffix);
  if (scale === undefined) return new CelError("unable to parse quantity's suffix");
  const quantity = smallOf(whole, fraction, scale) ?? decimalOf(whole + fraction, fraction.length, scale);
  return sign === '-' && quantity instanceof Quantity ? negated(quantity) : quantity;
}

const isQuantity = (text: string): boolean => parse(text) instanceof Quantity;

const negated = ({ unscaled, exponent, small }: Quantity): Quantity => new Quantity(-unscaled, exponent, small);

const fits = (value: bigint): boolean => value >= MIN_INT && value <= MAX_INT;

/** Multiplies a mantissa by a power of ten; undefined if it leaves 64 bits. */
function scaledUp(value: bigint, power: number): bigint | undefined {
  if (value === 0n) return 0n;
  if (power >= 19) return undefined;
  const scaled = value * 10n ** BigInt(power);
  return fits(scaled) ? scaled : undefined;
}

/** A fraction that is zero (`1.0`, `1000m`) keeps its negative scale, and so is no integer. */
function integerOf({ small, exponent, unscaled }: Quantity): Value | undefined {
  if (!small || exponent < 0) return undefined;
  const value = scaledUp(unscaled, exponent);
  return value === undefined ? undefined : integer(value);
}

const asInteger = (quantity: Quantity): Value => integerOf(quantity) ?? new CelError('cannot convert value to integer');
const isWhole = (quantity: Quantity): boolean => integerOf(quantity) !== undefined;

/** Adds quantities with 64-bit mantissas; undefined if the sum does not fit. */
function addSmall(a: Quantity, b: Quantity): Quantity | undefined {
  if (b.unscaled === 0n) return a;
  if (a.unscaled === 0n) return b;
  const exponent = Math.min(a.exponent, b.exponent);
  const left = scaledUp(a.unscaled, a.exponent - exponent);
  const right = scaledUp(b.unscaled, b.exponent - exponent);
  if (left === undefined || right === undefined || !fits(left + right)) return undefined;
  return new Quantity(left + right, exponent, true);
}

/** Adds quantities. The sum keeps the 64-bit form if both have it and the sum fits. */
function add(a: Quantity, b: Quantity): Quantity {
  return (a.small && b.small ? addSmall(a, b) : undefined) ?? addDecimal(a, b);
}

function addDecimal(a: Quantity, b: Quantity): Quantity {
  const exponent = Math.min(a.exponent, b.exponent);
  const at = ({ unscaled, exponent: own }: Quantity): bigint =>
    unscaled === 0n ? 0n : unscaled * 10n ** BigInt(Math.min(own - exponent, 2 * MAX_EXPONENT));
  return new Quantity(at(a) + at(b), exponent, false);
}

/** Go negates the mantissa in 64 bits, in which the smallest integer is its own negation. */
const negatedSmall = ({ unscaled, exponent }: Quantity): Quantity =>
  new Quantity(BigInt.asIntN(64, -unscaled), exponent, true);

function subtract(a: Quantity, b: Quantity): Quantity {
  const difference = a.small && b.small ? addSmall(a, negatedSmall(b)) : undefined;
  return difference ?? addDecimal(a, negated(b));
}

const sign = ({ nanos }: Quantity): number => (nanos > 0n ? 1 : nanos < 0n ? -1 : 0);
const order = (a: Quantity, b: Quantity): number => (a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0);
const isGreater = (a: Quantity, b: Quantity): boolean => a.nanos > b.nanos;
const isLess = (a: Quantity, b: Quantity): boolean => a.nanos < b.nanos;

/** A power of ten as Go's math.Pow10 makes it, from two that are tabulated. */
function power10(exponent: number): number {
  const rest = Math.abs(exponent) % 32;
  const most = Math.abs(exponent) - rest;
  return exponent < 0
    ? Number(`1e-${String(most)}`) / Number(`1e${String(rest)}`)
    : Number(`1e${String(most)}`) * Number(`1e${String(rest)}`);
}

function approximate({ unscaled, exponent }: Quantity): Double {
  return new Double(exponent === 0 ? Number(unscaled) : Number(unscaled) * power10(exponent));
}

const on =
  (run: (quantity: Quantity) => Value): Implementation =>
  (value) =>
    value instanceof Quantity ? run(value) : NO_SUCH_OVERLOAD;
const onTwo =
  (run: (a: Quantity, b: Quantity) => Value): Implementation =>
  (a, b) =>
    a instanceof Quantity && b instanceof Quantity ? run(a, b) : NO_SUCH_OVERLOAD;
const withInt =
  (run: (a: Quantity, b: Quantity) => Quantity): Implementation =>
  (a, b) =>
    a instanceof Quantity && isInteger(b) ? run(a, new Quantity(BigInt(b), 0, true)) : NO_SUCH_OVERLOAD;

export const QUANTITY_LIBRARY: Library = {
  types: [typeConstant(QUANTITY)],
  functions: [
    fn('quantity', overload('string_to_quantity', [STRING], QUANTITY, onString(parse))),
    fn('isQuantity', overload('is_quantity_string', [STRING], BOOL, onString(isQuantity))),
    fn('sign', overload('quantity_sign', [QUANTITY], INT, on(sign))),
    fn('isGreaterThan', method('quantity_is_greater_than', [QUANTITY, QUANTITY], BOOL, onTwo(isGreater))),
    fn('isLessThan', method('quantity_is_less_than', [QUANTITY, QUANTITY], BOOL, onTwo(isLess))),
    fn('compareTo', method('quantity_compare_to', [QUANTITY, QUANTITY], INT, onTwo(order))),
    fn('asApproximateFloat', method('quantity_get_float', [QUANTITY], DOUBLE, on(approximate))),
    fn('asInteger', method('quantity_get_int', [QUANTITY], INT, on(asInteger))),
    fn('isInteger', method('quantity_is_integer', [QUANTITY], BOOL, on(isWhole))),
    fn(
      'add',
      method('quantity_add', [QUANTITY, QUANTITY], QUANTITY, onTwo(add)),
      method('quantity_add_int', [QUANTITY, INT], QUANTITY, withInt(add)),
    ),
    fn(
      'sub',
      method('quantity_sub', [QUANTITY, QUANTITY], QUANTITY, onTwo(subtract)),
      method('quantity_sub_int', [QUANTITY, INT], QUANTITY, withInt(subtract)),
    ),
  ],
};
