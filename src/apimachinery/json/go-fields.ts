import { goKind } from './decode.js';
import { isObject, type JsonObject, type JsonValue } from './json.js';

/** A value whose type differs from that of its field, in the words of Go's decoder. */
export class FieldTypeError extends Error {
  override readonly name = 'FieldTypeError';

  constructor(value: JsonValue, field: string, type: string) {
    super(`json: cannot unmarshal ${goKind(value)} into Go struct field ${field} of type ${type}`);
  }
}

const isNull = (value: JsonValue | undefined): value is null | undefined => value === undefined || value === null;

/** Returns a string, empty if absent. `field` is its name in Go, beginning with the innermost struct; `type` is its type there. */
export function stringField(value: JsonValue | undefined, field: string, type = 'string'): string {
  if (isNull(value)) return '';
  if (typeof value !== 'string') throw new FieldTypeError(value, field, type);
  return value;
}

export function boolField(value: JsonValue | undefined, field: string): boolean | undefined {
  if (isNull(value)) return undefined;
  if (typeof value !== 'boolean') throw new FieldTypeError(value, field, 'bool');
  return value;
}

/** Returns a list of strings. `type` is the Go type of an item; `listType` is that of the list, if it has a name. */
export function stringsField(
  value: JsonValue | undefined,
  field: string,
  type = 'string',
  listType = `[]${type}`,
): readonly string[] {
  if (isNull(value)) return [];
  if (!Array.isArray(value)) throw new FieldTypeError(value, field, listType);
  return value.map((item) => stringField(item, field, type));
}

/** Returns an object, empty if absent. */
export function objectField(value: JsonValue | undefined, field: string, type: string): JsonObject {
  if (isNull(value)) return {};
  if (!isObject(value)) throw new FieldTypeError(value, field, type);
  return value;
}

/** Returns a list of objects. `type` is the Go type of an item. */
export function objectsField(value: JsonValue | undefined, field: string, type: string): readonly JsonObject[] {
  if (isNull(value)) return [];
  if (!Array.isArray(value)) throw new FieldTypeError(value, field, `[]${type}`);
  return value.map((item) => objectField(item, field, type));
}
