import { MAX_INT, integer } from '../values/integer.js';
import { parseDate, parseDuration, parseTimestamp } from '../values/time.js';
import type { Value } from '../values/value.js';
import { CelError, Double, Duration, Timestamp } from '../values/value.js';
import type { Adapter } from './values.js';
import type { Json } from './json.js';

/** The name of a JSON value's type as Go prints it. */
function goType(json: Json): string {
  if (json === null || json === undefined) return '<nil>';
  if (typeof json === 'string') return 'string';
  if (typeof json === 'boolean') return 'bool';
  if (typeof json === 'bigint') return 'int64';
  if (typeof json === 'number') return Number.isInteger(json) ? 'int64' : 'float64';
  return Array.isArray(json) ? '[]interface {}' : 'map[string]interface {}';
}

const wrong = (expected: string, json: Json): CelError =>
  new CelError(`invalid data, expected ${expected}, got ${goType(json)}`);

export const adaptInt: Adapter = (json) => {
  if (typeof json === 'number' && Number.isSafeInteger(json)) return json + 0;
  if (typeof json === 'bigint') return integer(json) ?? wrong('int', 0.5);
  return wrong('int', json);
};

export const adaptDouble: Adapter = (json) =>
  typeof json === 'number' || typeof json === 'bigint' ? new Double(Number(json)) : wrong('float', json);

export const adaptBool: Adapter = (json) => (typeof json === 'boolean' ? json : wrong('bool', json));

export const adaptIntOrString: Adapter = (json) => {
  if (typeof json === 'string') return json;
  if (typeof json === 'number' && Number.isSafeInteger(json)) return json + 0;
  if (typeof json === 'bigint') return json;
  return new CelError('invalid data, expected XIntOrString value to be either a string or integer');
};

const UNIT_NAMES: readonly (readonly [bigint, readonly string[]])[] = [
  [1n, ['ns', 'nano']],
  [1000n, ['us', 'µs', 'micro']],
  [1000000n, ['ms', 'milli']],
  [1000000000n, ['s', 'sec']],
  [60000000000n, ['m', 'min']],
  [3600000000000n, ['h', 'hr', 'hour']],
  [86400000000000n, ['d', 'day']],
  [604800000000000n, ['w', 'wk', 'week']],
];

/** Durations of the OpenAPI format: Go's, or amounts with longer names of units. */
export function parseFormatDuration(text: string): bigint | undefined {
  const go = parseDuration(text);
  if (go !== undefined) return go;
  let total: bigint | undefined;
  for (const [, , amount = '', name = ''] of text.matchAll(/((\d+)\s*([A-Za-zµ]+))/g)) {
    const count = BigInt(amount);
    if (count > MAX_INT) return undefined;
    const unit = name.toLowerCase();
    for (const [nanos, names] of UNIT_NAMES) {
      names.forEach((known, i) => {
        if (unit === known || (i === names.length - 1 && unit.startsWith(known))) total = (total ?? 0n) + count * nanos;
      });
    }
  }
  return total === undefined ? undefined : BigInt.asIntN(64, total);
}

function dateTime(text: string): Value {
  if (text === '') return new Timestamp(0, 0);
  const local = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/.test(text) ? `${text}Z` : text;
  return parseTimestamp(local) ?? new CelError(`Invalid date-time formatted string ${text}`);
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function base64(text: string): Value {
  const clean = text.replaceAll('\n', '').replaceAll('\r', '');
  if (!BASE64.test(clean)) return new CelError(`Invalid byte formatted string ${text}`);
  return new Uint8Array(Buffer.from(clean, 'base64'));
}

function text(read: (text: string) => Value): Adapter {
  return (json) => (typeof json === 'string' ? read(json) : wrong('string', json));
}

/** Strings by their format. */
export function stringAdapter(format: string): Adapter {
  switch (format) {
    case 'duration':
      return text((value) => {
        const nanos = parseFormatDuration(value);
        if (nanos !== undefined) return new Duration(nanos);
        return new CelError(`Invalid duration ${value}: unable to parse ${value} as duration`);
      });
    case 'date':
      return text((value) => parseDate(value) ?? new CelError(`Invalid date formatted string ${value}`));
    case 'date-time':
      return text(dateTime);
    case 'byte':
      return text(base64);
    default:
      return (json) => (typeof json === 'string' ? json : wrong('string', json));
  }
}
