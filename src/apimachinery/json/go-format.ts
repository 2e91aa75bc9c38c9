import { Float, type JsonValue } from './json.js';
import { compareUtf8 } from '../../util/text/utf8.js';

/** Formats a decoded JSON value as Go's `%v` does: `map[a:1 b:[x y] c:<nil>]`. */
export function goFormat(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return '<nil>';
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : formatFloat(value);
  if (typeof value !== 'object') return String(value);
  if (value instanceof Float) return formatFloat(Number(value));
  if (Array.isArray(value)) return `[${value.map(goFormat).join(' ')}]`;
  const keys = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort(compareUtf8);
  return `map[${keys.map((key) => `${key}:${goFormat(value[key])}`).join(' ')}]`;
}

/** Formats a float64 as `%v` does: with an exponent of two digits from 1e6 and below 1e-4. */
export function formatFloat(value: number): string {
  if (Object.is(value, -0)) return '-0';
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** Returns Go's name of the type of a decoded JSON value. */
export function goTypeName(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return '<nil>';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'bigint') return 'int64';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'int64' : 'float64';
  if (value instanceof Float) return 'float64';
  return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}';
}
