import type { JsonObject, JsonValue } from '../json/json.js';
import { noteEmpty } from './empty-members.js';
import type { GoField, GoType } from './types.js';

/** Given for a time that is Go's zero time, which is written as null. A pointer to it is not nil, and validation may see that it was given. */
export const ZERO_TIME: JsonObject = Object.freeze({});

/** Returns the fields of a struct as its encoder writes them. */
export function inTypeOrder(type: GoType, given: JsonObject): JsonObject {
  const out: JsonObject = {};
  let empty: JsonObject | undefined;
  for (const field of type.fields.values()) {
    const value = Object.hasOwn(given, field.name) ? given[field.name] : undefined;
    if (value === undefined) {
      if (isWrittenWhenAbsent(field)) out[field.name] = zeroValue(field.type);
    } else if (value === ZERO_TIME) {
      if (field.type.kind === 'ptr') out[field.name] = null;
      else {
        if (!isOmitted(field, null)) out[field.name] = null;
        (empty ??= {})[field.name] = value;
      }
    } else if (!isOmitted(field, value)) out[field.name] = value;
    else if ((typeof value === 'object' && value !== null) || isEmptyBytes(field, value)) {
      (empty ??= {})[field.name] = value;
    }
  }
  if (empty !== undefined) noteEmpty(out, empty);
  return out;
}

/** Reports whether a value is empty bytes. As for lists, these differ from absent ones. */
const isEmptyBytes = ({ type }: GoField, value: JsonValue): boolean => type.kind === 'bytes' && value === '';

/** Sorts keys by UTF-16, as maps are written. That is the order of UTF-8 for all but the rarest characters, and nothing depends on it. */
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

/** Reports whether the encoder omits the field with this value. */
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

/** Returns what the encoder writes for a type's zero value, as a new tree on every call. */
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
