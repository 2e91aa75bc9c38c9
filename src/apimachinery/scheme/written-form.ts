import type { JsonObject, JsonValue } from '../json/json.js';
import { noteEmpty } from './empty-members.js';
import type { GoField, GoType } from './types.js';

/** The fields of a struct as its encoder writes them. */
export function inTypeOrder(type: GoType, given: JsonObject): JsonObject {
  const out: JsonObject = {};
  let empty: JsonObject | undefined;
  for (const field of type.fields.values()) {
    const value = Object.hasOwn(given, field.name) ? given[field.name] : undefined;
    if (value === undefined) {
      if (isWrittenWhenAbsent(field)) out[field.name] = zeroValue(field.type);
    } else if (!isOmitted(field, value)) out[field.name] = value;
    else if ((typeof value === 'object' && value !== null) || isEmptyBytes(field, value)) {
      (empty ??= {})[field.name] = value;
    }
  }
  if (empty !== undefined) noteEmpty(out, empty);
  return out;
}

/** Bytes that are none differ from bytes that are not given, as lists do. */
const isEmptyBytes = ({ type }: GoField, value: JsonValue): boolean => type.kind === 'bytes' && value === '';

/** In the order of UTF-16, as maps are written: it is that of UTF-8 for all but the rarest characters; nothing depends on it. */
export function withSortedKeys(map: JsonObject): JsonObject {
  const keys = Object.keys(map);
  if (isSorted(keys)) return map;
  const out: JsonObject = {};
  for (const key of keys.sort()) out[key] = map[key];
  return out;
}

function isSorted(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) if ((keys[i - 1] ?? '') > (keys[i] ?? '')) return false;
  return true;
}

/** Whether the encoder leaves the field out with this value. */
function isOmitted(field: GoField, value: JsonValue): boolean {
  if (field.omitZero && value === null) return true;
  if (!field.omitEmpty) return false;
  switch (field.type.kind) {
    case 'struct':
    case 'custom':
      return false;
    case 'ptr':
    case 'interface':
      return value === null;
    default:
      if (value === null || value === '' || value === 0 || value === false) return true;
      if (Array.isArray(value)) return value.length === 0;
      if (typeof value !== 'object') return false;
      for (const _ in value) return false;
      return true;
  }
}

const writtenWhenAbsent = new WeakMap<GoField, boolean>();

function isWrittenWhenAbsent(field: GoField): boolean {
  let written = writtenWhenAbsent.get(field);
  if (written === undefined) {
    written = !isOmitted(field, zeroValue(field.type));
    writtenWhenAbsent.set(field, written);
  }
  return written;
}

/** What the encoder writes for a type's zero value. A new tree at every call. */
export function zeroValue(type: GoType): JsonValue {
  switch (type.kind) {
    case 'string':
      return '';
    case 'bool':
      return false;
    case 'int32':
    case 'int64':
    case 'float64':
      return 0;
    case 'custom':
      if (type.text === 'resource.Quantity') return '0';
      if (type.text === 'intstr.IntOrString') return 0;
      return type.text === 'v1.JSONSchemaPropsOrBool' ? false : null;
    case 'struct': {
      const out: JsonObject = {};
      for (const field of type.fields.values()) if (isWrittenWhenAbsent(field)) out[field.name] = zeroValue(field.type);
      return out;
    }
    default:
      return null;
  }
}
