import { JsonError } from '../json/syntax.js';
import { isObject, type JsonValue } from '../json/json.js';
import { goTypeName } from '../json/go-format.js';
import { TypedDecoder } from './decoder.js';
import { convertNumbers } from './go-numbers.js';
import type { GoType } from './types.js';

/**
 * Returns the error of kube-apiserver's converter from untyped trees, which strategic merge patches use instead of the decoder.
 * Undefined if the tree fits the type.
 */
export function conversionError(type: GoType, value: JsonValue): string | undefined {
  if (value === null) return undefined;
  switch (type.kind) {
    case 'ptr':
      return type.elem === undefined ? undefined : conversionError(type.elem, value);
    case 'interface':
      return undefined;
    case 'custom':
      return decodingError(type, value);
    case 'struct':
      if (!isObject(value)) return `cannot restore struct from: ${kindName(value)}`;
      for (const field of type.fields.values()) {
        const member = Object.hasOwn(value, field.name) ? value[field.name] : undefined;
        const error = member === undefined ? undefined : conversionError(field.type, member);
        if (error !== undefined) return error;
      }
      return undefined;
    case 'map':
      if (!isObject(value)) return `cannot restore map from ${kindName(value)}`;
      return firstError(type, Object.values(value));
    case 'slice':
      return Array.isArray(value) ? firstError(type, value) : `cannot restore slice from ${kindName(value)}`;
    case 'bytes': {
      if (Array.isArray(value)) return value.map(byteError).find((error) => error !== undefined);
      if (typeof value !== 'string') return `cannot restore slice from ${kindName(value)}`;
      const error = decodingError(type, value);
      return error === undefined ? undefined : `error decoding from json: ${error}`;
    }
    default:
      return scalarError(type, value);
  }
}

/** Returns the error of the type's own decoder, which does not know the fields around it. */
function decodingError(type: GoType, value: JsonValue): string | undefined {
  try {
    new TypedDecoder().run(type, convertNumbers(type, value));
    return undefined;
  } catch (error) {
    if (error instanceof JsonError) return error.message;
    throw error;
  }
}

function firstError(type: GoType, values: readonly (JsonValue | undefined)[]): string | undefined {
  if (type.elem === undefined) return undefined;
  for (const value of values) {
    const error = conversionError(type.elem, value ?? null);
    if (error !== undefined) return error;
  }
  return undefined;
}

function byteError(value: JsonValue): string | undefined {
  const from = goTypeName(value);
  if (value === null || from === 'int64' || isWholeFloat(value)) return undefined;
  return from === 'float64' ? 'cannot convert float64 to uint8' : 'unrecognized type: uint8';
}

const isWholeFloat = (value: JsonValue): boolean => goTypeName(value) === 'float64' && Number.isInteger(Number(value));

function kindName(value: JsonValue): string {
  if (isObject(value)) return 'map';
  return Array.isArray(value) ? 'slice' : goTypeName(value);
}

function scalarError(type: GoType, value: JsonValue): string | undefined {
  const from = goTypeName(value);
  const whole = from === 'int64';
  switch (type.kind) {
    case 'string':
      if (from === 'string') return undefined;
      return whole ? `cannot convert int64 to ${type.text}` : 'unrecognized type: string';
    case 'bool':
      return from === 'bool' ? undefined : 'unrecognized type: bool';
    default:
      if (whole || isWholeFloat(value) || (type.kind === 'float64' && from === 'float64')) return undefined;
      return from === 'float64' ? `cannot convert float64 to ${type.text}` : `unrecognized type: ${type.kind}`;
  }
}

/** Throws JsonError with the converter's message if the tree does not fit the type. */
export function checkConvertible(type: GoType, value: JsonValue): void {
  const error = conversionError(type, value);
  if (error !== undefined) throw new JsonError(error);
}
