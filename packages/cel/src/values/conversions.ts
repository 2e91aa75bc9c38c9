import { INT_OVERFLOW, UINT_OVERFLOW } from './operators.js';
import { MAX_UINT, integer, isInteger, shortInteger } from './integer.js';
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp, timestamp } from './time.js';
import { CelError, Double, Duration, Timestamp, typeName, TypeValue, Uint, type Value } from './value.js';

const TWO_63 = 2 ** 63;

const impossible = (value: Value, to: string): CelError =>
  new CelError(`type conversion error from '${typeName(value)}' to '${to}'`);

/** Formats a double like Go's %g: the shortest digits, with an exponent below 1e-4 and from 1e6. */
function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa = '', power = '0'] = value.toExponential().split('e');
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 6) {
    return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  }
  return exponent < 0 ? value.toFixed(mantissa.replace(/[-.]/g, '').length - 1 - exponent) : String(value);
}

export function toInt(value: Value): Value {
  if (isInteger(value)) return value;
  if (value instanceof Uint) return integer(value.value) ?? INT_OVERFLOW;
  if (value instanceof Double) {
    const whole = Math.trunc(value.value);
    // The limits themselves are rejected, because they may be the result of rounding to a double.
    return whole > -TWO_63 && whole < TWO_63 ? (integer(BigInt(whole)) ?? INT_OVERFLOW) : INT_OVERFLOW;
  }
  if (value instanceof Duration) return integer(value.nanos) ?? INT_OVERFLOW;
  if (value instanceof Timestamp) return value.seconds;
  const parsed = typeof value === 'string' && /^[+-]?\d+$/.test(value) ? shortInteger(value) : undefined;
  return (parsed === undefined ? undefined : integer(parsed)) ?? impossible(value, 'int');
}

export function toUint(value: Value): Value {
  if (value instanceof Uint) return value;
  if (isInteger(value)) return value < 0 ? UINT_OVERFLOW : new Uint(BigInt(value));
  if (value instanceof Double) {
    return value.value >= 0 && value.value < 2 ** 64 ? new Uint(BigInt(Math.trunc(value.value))) : UINT_OVERFLOW;
  }
  if (typeof value === 'string' && /^\d+$/.test(value)) {
    const parsed = shortInteger(value);
    if (parsed !== undefined && parsed <= MAX_UINT) return new Uint(parsed);
  }
  return impossible(value, 'uint');
}

const FLOAT = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const LONGEST_SPECIAL = '+infinity'.length;
const SPECIAL = new Map([
  ['inf', Infinity],
  ['infinity', Infinity],
  ['nan', NaN],
]);

/** Parses like Go's ParseFloat, except for hexadecimal floats. */
function parseDouble(text: string): number | undefined {
  if (FLOAT.test(text)) {
    const value = Number(text);
    return Number.isFinite(value) ? value : undefined;
  }
  if (text.length > LONGEST_SPECIAL) return undefined;
  const special = SPECIAL.get(text.replace(/^[+-]/, '').toLowerCase());
  if (special === undefined) return undefined;
  return text.startsWith('-') ? -special : special;
}

export function toDouble(value: Value): Value {
  if (value instanceof Double) return value;
  if (isInteger(value)) return new Double(Number(value));
  if (value instanceof Uint) return new Double(Number(value.value));
  const parsed = typeof value === 'string' ? parseDouble(value) : undefined;
  return parsed === undefined ? impossible(value, 'double') : new Double(parsed);
}

const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

export function toBool(value: Value): Value {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string') {
    if (TRUE.has(value)) return true;
    if (FALSE.has(value)) return false;
  }
  return impossible(value, 'bool');
}

export function toText(value: Value): Value {
  switch (typeof value) {
    case 'string':
      return value;
    case 'boolean':
    case 'number':
    case 'bigint':
      return String(value);
    default:
  }
  if (value instanceof Double) return doubleText(value.value);
  if (value instanceof Uint) return value.value.toString();
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof Uint8Array) {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value);
    } catch {
      return new CelError('invalid UTF-8 in bytes, cannot convert to string');
    }
  }
  return impossible(value, 'string');
}

export function toBytes(value: Value): Value {
  if (value instanceof Uint8Array) return value;
  return typeof value === 'string' ? new TextEncoder().encode(value) : impossible(value, 'bytes');
}

export function toTimestamp(value: Value): Value {
  if (value instanceof Timestamp) return value;
  if (isInteger(value)) return timestamp(Number(value), 0);
  const parsed = typeof value === 'string' ? parseTimestamp(value) : undefined;
  return parsed ?? impossible(value, 'google.protobuf.Timestamp');
}

export function toDuration(value: Value): Value {
  if (value instanceof Duration) return value;
  const parsed = typeof value === 'string' ? parseDuration(value) : undefined;
  return parsed === undefined ? impossible(value, 'google.protobuf.Duration') : new Duration(parsed);
}

export const toType = (value: Value): Value => new TypeValue(typeName(value));
