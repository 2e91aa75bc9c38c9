import { fn, type Implementation, method, overload } from '../../declarations.js';
import type { Library } from '../library.js';
import { BOOL, DOUBLE, INT, STRING, objectType } from '../../types.js';
import { integer, isInteger, MAX_INT } from '../../values/integer.js';
import { CelError, Double, NO_SUCH_OVERLOAD, Opaque, type Value } from '../../values/value.js';
import { chargeWork } from '../../work.js';
import { onString } from '../helpers.js';
import { typeConstant } from '../standard.js';

const QUANTITY = objectType('kubernetes.Quantity');
const BILLION = 1_000_000_000n;
/** The largest 64-bit integer, in billionths. */
const MAX_NANOS = MAX_INT * BILLION;

/** A Kubernetes quantity: an exact number of billionths. */
class Quantity extends Opaque {
  readonly typeName = 'kubernetes.Quantity';

  constructor(
    readonly nanos: bigint,
    /** True if Kubernetes stores the value as a 64-bit mantissa. Other values never count as integers. */
    readonly small: boolean,
  ) {
    super();
  }

  equals(other: Value): boolean | CelError {
    return other instanceof Quantity ? this.nanos === other.nanos : NO_SUCH_OVERLOAD;
  }
}

const DECIMAL: Record<string, number> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY: Record<string, bigint> = { Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n, Pi: 50n, Ei: 60n };
const FORMAT_WRONG = `quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`;
/** Larger exponents fit neither into 64 bits nor into billionths. */
const MAX_EXPONENT = 100;

interface Scale {
  readonly exponent: number;
  readonly shift: bigint;
}

function scaleOf(suffix: string): Scale | undefined {
  const decimal = DECIMAL[suffix];
  if (decimal !== undefined) return { exponent: decimal, shift: 0n };
  const binary = BINARY[suffix];
  if (binary !== undefined) return { exponent: 0, shift: binary };
  const power = /^[eE]([+-]?\d+)$/.exec(suffix);
  if (power === null) return undefined;
  const exponent = Math.max(-MAX_EXPONENT, Math.min(MAX_EXPONENT, Number(power[1])));
  return { exponent, shift: 0n };
}

/** Converts to billionths, rounding away from zero. Quantities with a binary suffix are capped at the largest 64-bit integer. */
function nanosOf(digits: string, places: number, { exponent, shift }: Scale): bigint {
  const scaled = BigInt(digits === '' ? '0' : digits) << shift;
  const power = exponent - places + 9;
  if (power >= 0) {
    const nanos = scaled * 10n ** BigInt(power);
    return shift > 0n && nanos > MAX_NANOS ? MAX_NANOS : nanos;
  }
  const divisor = 10n ** BigInt(-power);
  return (scaled + divisor - 1n) / divisor;
}

/** Reports whether Kubernetes stores a quantity with this mantissa and scale as a 64-bit mantissa. */
function isSmall(whole: string, fraction: string, { exponent, shift }: Scale): boolean {
  const digits = whole.replace(/^0+/, '').length || 1;
  const precision =
    shift > 0n
      ? fraction === ''
        ? 15 - digits - Math.trunc((Number(shift) * 3) / 10) - 1
        : -1
      : 18 - (digits + fraction.length);
  return precision >= 0 && exponent - fraction.length >= -9;
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
  const nanos = nanosOf(whole + fraction, fraction.length, scale);
  return new Quantity(sign === '-' ? -nanos : nanos, isSmall(whole, fraction, scale));
}

const isQuantity = (text: string): boolean => parse(text) instanceof Quantity;

function integerOf(quantity: Quantity): Value | undefined {
  if (!quantity.small || quantity.nanos % BILLION !== 0n) return undefined;
  return integer(quantity.nanos / BILLION);
}

const asInteger = (quantity: Quantity): Value => integerOf(quantity) ?? new CelError('cannot convert value to integer');
const isWhole = (quantity: Quantity): boolean => integerOf(quantity) !== undefined;

/** Adds quantities. The sum keeps the 64-bit form if both operands have it and the sum fits. */
function combine(a: Quantity, nanos: bigint, small: boolean): Quantity {
  const total = a.nanos + nanos;
  const magnitude = total < 0n ? -total : total;
  return new Quantity(total, a.small && small && magnitude <= MAX_NANOS);
}

const add = (a: Quantity, b: Quantity): Quantity => combine(a, b.nanos, b.small);
const subtract = (a: Quantity, b: Quantity): Quantity => combine(a, -b.nanos, b.small);

const sign = ({ nanos }: Quantity): number => (nanos > 0n ? 1 : nanos < 0n ? -1 : 0);
const order = (a: Quantity, b: Quantity): number => (a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0);
const isGreater = (a: Quantity, b: Quantity): boolean => a.nanos > b.nanos;
const isLess = (a: Quantity, b: Quantity): boolean => a.nanos < b.nanos;

function approximate(quantity: Quantity): Double {
  const whole = quantity.nanos / BILLION;
  return new Double(quantity.nanos % BILLION === 0n ? Number(whole) : Number(quantity.nanos) / 1e9);
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
  (factor: 1n | -1n): Implementation =>
  (a, b) =>
    a instanceof Quantity && isInteger(b) ? combine(a, factor * BigInt(b) * BILLION, true) : NO_SUCH_OVERLOAD;

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
      method('quantity_add_int', [QUANTITY, INT], QUANTITY, withInt(1n)),
    ),
    fn(
      'sub',
      method('quantity_sub', [QUANTITY, QUANTITY], QUANTITY, onTwo(subtract)),
      method('quantity_sub_int', [QUANTITY, INT], QUANTITY, withInt(-1n)),
    ),
  ],
};
