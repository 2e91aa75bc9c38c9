import type { JsonObject, JsonValue } from '../../apimachinery/json.js';
import {
  CelList,
  CelMap,
  Double,
  Duration,
  Optional,
  Timestamp,
  Uint,
  formatDuration,
  formatTimestamp,
  type Value,
  typeName,
} from '../../cel/index.js';
import { ObjectLiteral } from './types.js';

/** A value that is no JSON. */
export class NotJsonError extends Error {}

const MAX_SAFE = 2n ** 53n;

/**
 * The JSON of a value, as google.protobuf.Value has it: what a number cannot hold becomes a text. The result shares nothing with
 * the value.
 */
export function toJson(value: Value): JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return value;
    case 'bigint':
      return value < MAX_SAFE && value > -MAX_SAFE ? Number(value) : value.toString();
    default:
  }
  if (value === null) return null;
  if (value instanceof Double) return value.value;
  if (value instanceof Uint) return value.value < MAX_SAFE ? Number(value.value) : value.value.toString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof ObjectLiteral) return members(value.fields);
  if (value instanceof CelList) return Array.from(value, toJson);
  if (value instanceof CelMap) return members(entriesOf(value));
  if (value instanceof Optional && value.value !== undefined) return toJson(value.value);
  throw new NotJsonError(`${typeName(value)} has no JSON`);
}

function* entriesOf(map: CelMap): Generator<[string, Value]> {
  for (const key of map.keys()) {
    if (typeof key !== 'string') throw new NotJsonError(`a key of type ${typeName(key)} is no text`);
    yield [key, map.find(key) ?? null];
  }
}

function members(entries: Iterable<readonly [string, Value]>): JsonObject {
  const out: JsonObject = {};
  for (const [key, value] of entries) {
    // `__proto__` is a member like any other.
    Object.defineProperty(out, key, { value: toJson(value), enumerable: true, writable: true, configurable: true });
  }
  return out;
}

/** What is wrong with the type names of a literal: each must follow the fields that lead to it. */
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
