import { Printed } from '../apimachinery/meta/field-error.js';
import { formatFloat } from '../apimachinery/json/go-format.js';
import type { JsonObject, JsonValue } from '../apimachinery/json/json.js';

/** A bound or factor, prepared for both ways in which kube-apiserver compares: as int64 and as float64. */
interface Limit {
  readonly value: number;
  /** Go's int64(value): truncated, or the smallest integer if it does not fit. */
  readonly whole: number;
  /** Returns the error that the limit itself does not fit its type, which is reported for every value; undefined if it fits. */
  readonly rangeError: ((path: string) => string) | undefined;
}

export interface NumericRules {
  readonly typeName: string;
  readonly format: string;
  readonly multipleOf: Limit | undefined;
  readonly minimum: Limit | undefined;
  readonly exclusiveMinimum: boolean;
  readonly maximum: Limit | undefined;
  readonly exclusiveMaximum: boolean;
}

/** An error of a number; `value` is undefined for errors that name no field. */
export interface NumericFault {
  readonly message: string;
  readonly value: JsonValue | Printed | undefined;
}

const MAX_INT64 = 2 ** 63;

export function compileNumeric(schema: JsonObject, types: readonly string[], format: string): NumericRules | undefined {
  const bounded = schema['minimum'] ?? schema['maximum'] ?? schema['multipleOf'];
  const single = types.length === 1 ? types[0] : undefined;
  const typeName = single === 'integer' || single === 'number' ? single : '';
  if (typeName === '' && bounded === undefined) return undefined;
  const ranged = typeName === 'integer' ? /^int(32|64)$/ : /^(float|double)$/;
  const usedFormat = typeName !== '' && ranged.test(format) ? format : '';
  const limit = (key: string, prefix: string): Limit | undefined => {
    const raw = schema[key];
    if (typeof raw !== 'number' && typeof raw !== 'bigint') return undefined;
    const value = Number(raw);
    const whole = value >= MAX_INT64 || value < -MAX_INT64 ? -MAX_INT64 : Math.trunc(value);
    const fits = fitsRange(value, typeName, usedFormat);
    return { value, whole, rangeError: fits ? undefined : (path) => rangeText(prefix, typeName, usedFormat, path) };
  };
  return {
    typeName,
    format: usedFormat,
    multipleOf: limit('multipleOf', 'MultipleOf'),
    minimum: limit('minimum', 'Minimum boundary'),
    exclusiveMinimum: schema['exclusiveMinimum'] === true,
    maximum: limit('maximum', 'Maximum boundary'),
    exclusiveMaximum: schema['exclusiveMaximum'] === true,
  };
}

/** Reports whether the number passes: the common case, which builds no text. */
export function numberPasses(rules: NumericRules, value: number | bigint, whole: boolean): boolean {
  const { minimum, maximum, multipleOf } = rules;
  if (!fitsRange(value, rules.typeName, rules.format)) return false;
  if (multipleOf !== undefined && (multipleOf.rangeError !== undefined || !isMultiple(multipleOf, value, whole)))
    return false;
  if (
    minimum !== undefined &&
    (minimum.rangeError !== undefined || below(minimum, rules.exclusiveMinimum, value, whole))
  ) {
    return false;
  }
  return (
    maximum === undefined || (maximum.rangeError === undefined && !above(maximum, rules.exclusiveMaximum, value, whole))
  );
}

/** Returns all errors of a number, in kube-apiserver's order. */
export function numericFaults(
  rules: NumericRules,
  value: number | bigint,
  whole: boolean,
  path: string,
): readonly NumericFault[] {
  const faults: NumericFault[] = [];
  const { minimum, maximum, multipleOf } = rules;
  if (!fitsRange(value, rules.typeName, rules.format)) {
    faults.push({ message: rangeText('Checked', rules.typeName, rules.format, path), value: undefined });
  }
  // A limit that does not fit its type is compared as a float, after its own error.
  const asWhole = (limit: Limit): boolean => {
    if (limit.rangeError === undefined) return whole;
    faults.push({ message: limit.rangeError(path), value: undefined });
    return false;
  };
  if (multipleOf !== undefined) {
    const integral = asWhole(multipleOf);
    const factor = limitText(multipleOf, integral);
    if ((integral ? multipleOf.whole : multipleOf.value) <= 0) {
      const message = `factor MultipleOf declared for ${path} must be positive: ${factor}`;
      faults.push({ message, value: integral ? BigInt(multipleOf.whole) : multipleOf.value });
    } else if (!isMultiple(multipleOf, value, integral)) {
      faults.push({ message: `${path} in body should be a multiple of ${factor}`, value: shown(value, integral) });
    }
  }
  const bounds = [
    { limit: minimum, isBeyond: below, exclusive: rules.exclusiveMinimum, than: 'greater than' },
    { limit: maximum, isBeyond: above, exclusive: rules.exclusiveMaximum, than: 'less than' },
  ];
  for (const { limit, isBeyond, exclusive, than } of bounds) {
    if (limit === undefined) continue;
    const integral = asWhole(limit);
    if (!isBeyond(limit, exclusive, value, integral)) continue;
    const relation = exclusive ? than : `${than} or equal to`;
    const message = `${path} in body should be ${relation} ${limitText(limit, integral)}`;
    faults.push({ message, value: shown(value, integral) });
  }
  return faults;
}

/** Returns the value as errors show it: as a float if it was compared as one. */
const shown = (value: number | bigint, whole: boolean): JsonValue | Printed =>
  whole ? value : new Printed(formatFloat(Number(value)));

// Comparisons of a bigint and a number are exact in JavaScript.
function below(limit: Limit, exclusive: boolean, value: number | bigint, whole: boolean): boolean {
  const bound = whole ? limit.whole : limit.value;
  return exclusive ? value <= bound : value < bound;
}

function above(limit: Limit, exclusive: boolean, value: number | bigint, whole: boolean): boolean {
  const bound = whole ? limit.whole : limit.value;
  return exclusive ? value >= bound : value > bound;
}

function isMultiple(limit: Limit, value: number | bigint, whole: boolean): boolean {
  if (whole) {
    if (limit.whole <= 0) return false;
    if (typeof value === 'bigint') return value % BigInt(limit.whole) === 0n;
    return value % limit.whole === 0;
  }
  if (limit.value <= 0) return false;
  const number = Number(value);
  return isJsonInteger(limit.value < 1 ? (1 / limit.value) * number : number / limit.value);
}

/** Reports whether a float is close enough to an integer to count as one (relative error below 1e-9). */
export function isJsonInteger(value: number): boolean {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return false;
  if (Number.isInteger(value)) return true;
  const whole = Math.trunc(value);
  // Go converts through uint64, so a negative fraction is never close.
  if (whole === 0 || value < 0) return false;
  return Math.abs(value - whole) / (Math.abs(value) + Math.abs(whole)) < 1e-9;
}

function fitsRange(value: number | bigint, typeName: string, format: string): boolean {
  if (typeName === 'integer') {
    if (format === 'int32') return value >= -(2 ** 31) && value < 2 ** 31 && isWhole(value);
    // A value that does not fit an int64 arrives as a float. -2^63 is rejected as a float, because its shortest text is below the smallest int64.
    const isAbove = typeof value === 'bigint' ? value >= -MAX_INT64 : value > -MAX_INT64;
    return isWhole(value) && isAbove && value < MAX_INT64;
  }
  return typeName !== 'number' || format !== 'float' || Number.isFinite(Math.fround(Number(value)));
}

const isWhole = (value: number | bigint): boolean => typeof value === 'bigint' || Number.isInteger(value);

function rangeText(prefix: string, typeName: string, format: string, path: string): string {
  const detail = format === '' ? '(default format)' : `with format ${format}`;
  return `${prefix} value must be of type ${typeName} ${detail} in ${path}`;
}

function limitText(limit: Limit, whole: boolean): string {
  return whole ? BigInt(limit.whole).toString() : formatFloat(limit.value);
}
