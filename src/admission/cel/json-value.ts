import type { JsonObject, JsonValue } from '../../apimachinery/json/json.js';
import { quote } from '../../apimachinery/meta/meta.js';
import { formatGoDuration } from '../../go/duration.js';
import { GoValue } from '../../structured-merge-diff/go-value.js';
import {
  CelList,
  CelMap,
  Double,
  Duration,
  EntryMap,
  Opaque,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  formatDuration,
  formatTimestamp,
  type Value,
  typeName,
} from '@annex/cel';
import { ObjectLiteral } from './types.js';

/** The value cannot be represented in JSON. */
export class NotJsonError extends Error {}

const MAX_SAFE = 2n ** 53n;

/** Options of the conversion to JSON. */
export interface JsonOptions {
  /** Integers stay numbers, however large. */
  readonly exact?: boolean;
  /**
   * kube-apiserver's conversion of apply configurations stops at maps in lists and maps that are not objects of a type:
   * the schema then reports what Go prints for them. Strings in their place lead to the same error; `placeholders.used` is set
   * if any were inserted.
   */
  readonly placeholders?: { used: boolean };
}

/**
 * Converts a value to JSON like google.protobuf.Value: numbers that a double cannot hold become strings. The result
 * shares nothing with the value.
 */
export function toJson(value: Value, options: JsonOptions = {}): JsonValue {
  const native = options.placeholders === undefined ? undefined : goValue(value);
  if (native !== undefined) return native;
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return value;
    case 'bigint':
      if (options.exact === true) return value;
      return value < MAX_SAFE && value > -MAX_SAFE ? Number(value) : value.toString();
    default:
  }
  if (value === null) return null;
  if (value instanceof Double) return value.value;
  if (value instanceof Uint) return value.value < MAX_SAFE ? Number(value.value) : value.value.toString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof ObjectLiteral) return objectJson(value, options);
  if (value instanceof CelList) return Array.from(value, (item) => inner(item, options));
  if (value instanceof CelMap) return members(entriesOf(value), options);
  if (value instanceof Optional && value.value !== undefined) return toJson(value.value, options);
  if (value instanceof TypeValue) throw new NotJsonError("type conversion not supported for 'type'");
  throw new NotJsonError(`type conversion error from '${goName(value)}' to '*structpb.Value'`);
}

/** Returns the name that Kubernetes' own types have in Go: `kubernetes.URL` is URL, `net.IP` is IP. */
const goName = (value: Value): string => typeName(value).replace(/^.*\./, '');

function objectJson(value: ObjectLiteral, options: JsonOptions): JsonValue {
  const { placeholders } = options;
  const out: JsonObject = {};
  for (const [name, field] of value.fields) {
    const stray = field instanceof EntryMap ? field.keys().find((key) => typeof key !== 'string') : undefined;
    if (placeholders !== undefined && typeof stray === 'number') {
      placeholders.used = true;
      const key = `'${quote(String.fromCodePoint(Math.abs(stray) & 0xffff)).slice(1, -1)}'`;
      return `fail to convert field ${quote(name)}: map key ${key} is of type types.Int, not string`;
    }
    put(out, name, toJson(field, options));
  }
  return out;
}

const MONTHS = 'January February March April May June July August September October November December'.split(' ');

/** Returns the Go form of a value that Go does not convert to JSON either; undefined for all other values. */
function goValue(value: Value): GoValue | undefined {
  if (value === null) return new GoValue('structpb.NullValue', 'NULL_VALUE', '0');
  if (value instanceof Uint8Array) {
    const hex = Array.from(value, (byte) => `0x${byte.toString(16)}`);
    return new GoValue('[]uint8', `[${value.join(' ')}]`, `[]byte{${hex.join(', ')}}`);
  }
  if (value instanceof Duration) {
    return new GoValue('time.Duration', formatGoDuration(Number(value.nanos) / 1e6), value.nanos.toString());
  }
  if (value instanceof Timestamp) {
    const text = formatTimestamp(value).replace('T', ' ').replace(/Z$/, ' +0000 UTC');
    const date = new Date(value.seconds * 1000);
    const parts = [date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds(), value.nanos];
    const month = `time.${MONTHS[date.getUTCMonth()] ?? ''}`;
    const syntax = `time.Date(${String(date.getUTCFullYear())}, ${month}, ${parts.join(', ')}, time.UTC)`;
    return new GoValue('time.Time', text, syntax);
  }
  if (value instanceof Opaque && !(value instanceof ObjectLiteral))
    return new GoValue(goName(value), goName(value), goName(value));
  return undefined;
}

/** Converts an item of a list or a value of a map. */
function inner(value: Value, options: JsonOptions): JsonValue {
  if (options.placeholders === undefined || !(value instanceof EntryMap)) return toJson(value, options);
  options.placeholders.used = true;
  return formatValue(value);
}

function formatValue(value: Value): string {
  if (value instanceof CelMap) {
    return `map[${value
      .keys()
      .map((key) => `${formatValue(key)}:${formatValue(value.find(key) ?? null)}`)
      .join(' ')}]`;
  }
  if (value instanceof CelList) return `[${Array.from(value, formatValue).join(' ')}]`;
  if (value instanceof Double) return String(value.value);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : typeName(value);
}

function* entriesOf(map: CelMap): Generator<[string, Value]> {
  for (const key of map.keys()) {
    if (typeof key !== 'string') throw new NotJsonError(`map key of type ${typeName(key)} is not a string`);
    yield [key, map.find(key) ?? null];
  }
}

/** Sets a member; `__proto__` is treated like any other key. */
function put(out: JsonObject, key: string, value: JsonValue): void {
  Object.defineProperty(out, key, { value, enumerable: true, writable: true, configurable: true });
}

function members(entries: Iterable<readonly [string, Value]>, options: JsonOptions): JsonObject {
  const out: JsonObject = {};
  for (const [key, value] of entries) put(out, key, inner(value, options));
  return out;
}

/** Returns the errors in the type names of a literal: each must match the field path that leads to it. */
export function typeNameProblems(value: Value, path: string): string[] {
  if (value instanceof ObjectLiteral) {
    const problems =
      value.typeName === path
        ? []
        : [
            `unexpected type name "${value.typeName}", expected "${path}", which matches field name path from root Object type`,
          ];
    for (const [name, field] of value.fields) problems.push(...typeNameProblems(field, `${path}.${name}`));
    return problems;
  }
  if (value instanceof CelList) return Array.from(value).flatMap((item) => typeNameProblems(item, path));
  if (value instanceof CelMap) return value.keys().flatMap((key) => typeNameProblems(value.find(key) ?? null, path));
  return [];
}
