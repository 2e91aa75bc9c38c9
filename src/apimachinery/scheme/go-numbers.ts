import { toInt64 } from '../json/float.js';
import { Float, isObject, type JsonObject, type JsonValue } from '../json/json.js';
import type { GoType } from './types.js';

/**
 * Converts the numbers of a tree as kube-apiserver's converter of untyped trees stores them in the fields of a type: whole floats
 * become integers, and integers that are too large for their field lose their upper bits. What does not fit, and what contains no
 * numbers, is returned unchanged.
 */
export function convertNumbers(type: GoType, value: JsonValue): JsonValue {
  switch (type.kind) {
    case 'string':
    case 'bool':
      return value;
    case 'int32':
      return integer(value, 32);
    case 'int64':
      return integer(value, 64);
    case 'float64':
    case 'custom':
    case 'interface':
      return withoutFloats(value);
    case 'ptr':
      return type.elem === undefined ? value : convertNumbers(type.elem, value);
    case 'bytes':
      return Array.isArray(value) ? mapItems(value, octet) : value;
    case 'slice':
      return Array.isArray(value) ? mapItems(value, (item) => convertElement(type, item)) : value;
    case 'map':
      return isObject(value) ? mapMembers(value, (_key, member) => convertElement(type, member)) : value;
    case 'struct':
      return isObject(value) ? mapMembers(value, (key, member) => convertField(type, key, member)) : value;
  }
}

const convertElement = ({ elem }: GoType, value: JsonValue): JsonValue =>
  elem === undefined ? value : convertNumbers(elem, value);

function convertField(type: GoType, key: string, value: JsonValue): JsonValue {
  const field = type.fields.get(key);
  return field === undefined ? value : convertNumbers(field.type, value);
}

/** Returns the integer that a number becomes; undefined if it is not a number or has a fraction. */
function whole(value: JsonValue): number | bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value !== 'number' && !(value instanceof Float)) return undefined;
  const number = Number(value);
  return Number.isInteger(number) ? toInt64(number) : undefined;
}

function integer(value: JsonValue, bits: 32 | 64): JsonValue {
  const number = whole(value);
  if (number === undefined) return value;
  if (bits === 64 || (number >= -(2 ** 31) && number < 2 ** 31)) return number;
  return Number(BigInt.asIntN(bits, BigInt(number)));
}

function octet(value: JsonValue): JsonValue {
  const number = whole(value);
  return number === undefined ? value : Number(BigInt.asUintN(8, BigInt(number)));
}

/** Replaces Floats with integers, which they are in the JSON that types with a decoder of their own read. */
function withoutFloats(value: JsonValue): JsonValue {
  if (value instanceof Float) return Number(value);
  if (Array.isArray(value)) return mapItems(value, withoutFloats);
  return isObject(value) ? mapMembers(value, (_key, member) => withoutFloats(member)) : value;
}

function mapItems(items: JsonValue[], convert: (item: JsonValue) => JsonValue): JsonValue[] {
  let out: JsonValue[] | undefined;
  for (const [i, item] of items.entries()) {
    const converted = convert(item);
    if (converted !== item) (out ??= [...items])[i] = converted;
  }
  return out ?? items;
}

function mapMembers(object: JsonObject, convert: (key: string, member: JsonValue) => JsonValue): JsonObject {
  let out: JsonObject | undefined;
  for (const key in object) {
    const member = object[key];
    if (member === undefined) continue;
    const converted = convert(key, member);
    if (converted !== member) (out ??= { ...object })[key] = converted;
  }
  return out ?? object;
}
