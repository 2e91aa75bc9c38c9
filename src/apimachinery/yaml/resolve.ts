import { MAX_INT64, MIN_INT64 } from '../../go/int64.js';

/** The value of a plain YAML 1.1 scalar. A number is a number or bigint; text is a string. */
export type Resolved = string | number | bigint | boolean | null;

const FIXED = new Map<string, Resolved>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((s) => [s, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((s) => [s, false] as const),
  ...['', '~', 'null', 'Null', 'NULL'].map((s) => [s, null] as const),
  ...['.nan', '.NaN', '.NAN'].map((s) => [s, Number.NaN] as const),
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map((s) => [s, Number.POSITIVE_INFINITY] as const),
  ...['-.inf', '-.Inf', '-.INF'].map((s) => [s, Number.NEGATIVE_INFINITY] as const),
]);

const MAX_UINT64 = 18446744073709551615n;

/** The maximum number of characters of a number; longer scalars are text, whatever they look like. */
const MAX_NUMBER_LENGTH = 400;

function integer(plain: string): bigint | undefined {
  const match = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)$/.exec(plain);
  if (match === null) return undefined;
  const digits = match[2] ?? '';
  const octal = /^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits;
  const magnitude = BigInt(octal);
  if (match[1] === '+' && magnitude > MAX_INT64) return undefined;
  const value = match[1] === '-' ? -magnitude : magnitude;
  return value > MAX_UINT64 || value < MIN_INT64 ? undefined : value;
}

/** Reports whether a number is written as an integer: `1e3` is not. */
export const isIntegerText = (text: string): boolean => integer(text.replaceAll('_', '')) !== undefined;

const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;

function float(text: string): number | undefined {
  if (!FLOAT.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Dates are read as text, but text that looks like one is written in quotes. */
const TIMESTAMP =
  /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})| [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]+)?)?$/;

/** Reports whether text is a date. As Go parses it, a date that does not exist is plain text. */
function isTimestamp(text: string): boolean {
  if (text.length > 64 || !TIMESTAMP.test(text)) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = (text.match(/[0-9]+/g) ?? []).map(Number);
  const inMonth =
    month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  return inMonth && hour < 24 && minute < 60 && second < 60;
}

/** Returns the value of a plain scalar without a tag. Dates and `<<` are returned as text. */
export function resolvePlain(text: string): Resolved {
  if (FIXED.has(text)) return FIXED.get(text) ?? null;
  const first = text.charCodeAt(0);
  const digit = first >= 0x30 && first <= 0x39;
  if (text.length > MAX_NUMBER_LENGTH || (!digit && first !== 0x2b && first !== 0x2d && first !== 0x2e)) return text;
  if (first === 0x2e) return float(text) ?? text;
  if (isTimestamp(text)) return text;
  const plain = text.replaceAll('_', '');
  const whole = integer(plain);
  if (whole === undefined) return float(plain) ?? text;
  return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
}

const BASE60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;

/** Reports whether text must not be written plain, because it would be read as something else. */
export function isAmbiguous(text: string): boolean {
  if (typeof resolvePlain(text) !== 'string' || isTimestamp(text)) return true;
  return text.length <= MAX_NUMBER_LENGTH && text.includes(':') && BASE60.test(text);
}
