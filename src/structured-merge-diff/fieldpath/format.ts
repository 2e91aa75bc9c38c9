import { formatFloat } from '../../apimachinery/json/go-format.js';
import type { JsonValue } from '../../apimachinery/json/json.js';
import { quote } from '../../apimachinery/meta/meta.js';
import { GoValue } from '../go-value.js';
import { sortedKeys } from '../value.js';

/** Formats a number like Go's %v: 64-bit integers in plain digits, others as float64. */
function formatNumber(value: number | bigint): string {
  const whole = typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value);
  return whole ? value.toString() : formatFloat(Number(value));
}

/** Formats a value of a path element for messages: strings are quoted. With `floats`, all numbers are float64. */
export function formatKeyValue(value: JsonValue, floats: boolean): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number' || typeof value === 'bigint') {
    return floats ? formatFloat(Number(value)) : formatNumber(value);
  }
  if (typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => formatKeyValue(item, floats)).join(',')}]`;
  return sortedKeys(value)
    .map((key) => `${key}=${formatKeyValue(value[key] ?? null, floats)}`)
    .join('');
}

/** Formats decoded JSON like Go's %v: `map[a:1 b:[x y]]`. */
export function formatPlain(value: JsonValue): string {
  if (value === null) return '<nil>';
  if (typeof value === 'number' || typeof value === 'bigint') return formatNumber(value);
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[${value.map(formatPlain).join(' ')}]`;
  if (value instanceof GoValue) return value.plain;
  return `map[${sortedKeys(value)
    .map((key) => `${key}:${formatPlain(value[key] ?? null)}`)
    .join(' ')}]`;
}

/** Formats decoded JSON like Go's %#v: `map[string]interface {}{"a":1}`. */
export function formatSyntax(value: JsonValue): string {
  if (value === null) return 'interface {}(nil)';
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number' || typeof value === 'bigint') return formatNumber(value);
  if (typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(formatSyntax).join(', ')}}`;
  if (value instanceof GoValue) return value.syntax;
  return `map[string]interface {}{${sortedKeys(value)
    .map((key) => `${quote(key)}:${formatSyntax(value[key] ?? null)}`)
    .join(', ')}}`;
}

/** Returns the type of decoded JSON like Go's %T. */
export function goType(value: JsonValue): string {
  if (value === null) return '<nil>';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'bigint') return 'int64';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  if (value instanceof GoValue) return value.type;
  return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}';
}
