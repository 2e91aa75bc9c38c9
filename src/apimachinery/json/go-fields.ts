import { goKind } from './decode.js';
import { isObject, type JsonObject, type JsonValue } from './json.js';

/** A value of another type than its field has, in the words of Go's decoder. */
export class FieldTypeError extends Error {
  override readonly name = 'FieldTypeError';

  constructor(value: JsonValue, field: string, type: string) {
    super(`json: cannot unmarshal ${goKind(value)} into Go struct field ${field} of type ${type}`);
  }
}

const isNull = (value: JsonValue | undefined): value is null | undefined => value === undefined || value === null;

/** A text, empty where there is none. `field`: as Go names it, the innermost struct first; `type`: of it there. */
export function textField(value: JsonValue | undefined, field: string, type = 'string'): string {
  if (isNull(value)) return '';
  if (typeof value !== 'string') throw new FieldTypeError(value, field, type);
  return value;
}

export function flagField(value: JsonValue | undefined, field: string): boolean | undefined {
  if (isNull(value)) return undefined;
  if (typeof value !== 'boolean') throw new FieldTypeError(value, field, 'bool');
  return value;
}

/** `type`: of an item; `listType`: of the list, where it has a name. */
export function textsField(
  value: JsonValue | undefined,
  field: string,
  type = 'string',
  listType = `[]${type}`,
): readonly string[] {
  if (isNull(value)) return [];
  if (!Array.isArray(value)) throw new FieldTypeError(value, field, listType);
  return value.map((item) => textField(item, field, type));
}

/** An object, empty where there is none. */
export function objectField(value: JsonValue | undefined, field: string, type: string): JsonObject {
  if (isNull(value)) return {};
  if (!isObject(value)) throw new FieldTypeError(value, field, type);
  return value;
}

/** `type`: of an item. */
export function objectsField(value: JsonValue | undefined, field: string, type: string): readonly JsonObject[] {
  if (isNull(value)) return [];
  if (!Array.isArray(value)) throw new FieldTypeError(value, field, `[]${type}`);
  return value.map((item) => objectField(item, field, type));
}
