import { toText } from './conversions.js';
import { CelError, CelList, CelMap, Double, Opaque, Optional, typeName, Uint, type Value } from './value.js';

/** Formats a value for error messages. */
export function formatKey(value: Value): string {
  const text = toText(value);
  return typeof text === 'string' ? text : typeName(value);
}

export const noSuchKey = (key: Value): CelError => new CelError(`no such key: ${formatKey(key)}`);

/** Converts a list index to an integer, or returns the error that says why it is not valid. */
function listIndex(index: Value): number | CelError {
  if (typeof index === 'number') return index;
  if (index instanceof Double || index instanceof Uint) {
    const number = Number(index.value);
    return Number.isSafeInteger(number) ? number : new CelError(`unsupported index value ${formatKey(index)} in list`);
  }
  return typeof index === 'bigint' ? -1 : new CelError(`unsupported index type '${typeName(index)}' in list`);
}

/** Returns the value at a key or index, or undefined if there is none. */
export function lookup(container: Value, key: Value): Value | undefined {
  if (container instanceof CelMap) return container.find(key);
  if (container instanceof CelList) {
    const index = listIndex(key);
    if (index instanceof CelError) return index;
    return index >= 0 && index < container.size ? container.get(index) : undefined;
  }
  if (container instanceof Opaque) return typeof key === 'string' ? container.field(key) : undefined;
  return container instanceof CelError ? container : undefined;
}

/** `container.name` or `container['name']` */
export function field(container: Value, name: string): Value {
  if (container instanceof CelMap) return container.field(name) ?? noSuchKey(name);
  return at(container, name);
}

/** `container[key]` */
export function at(container: Value, key: Value): Value {
  if (key instanceof CelError) return key;
  const bad = invalidKeyError(key);
  if (bad !== undefined) return bad;
  const found = lookup(container, key);
  if (found !== undefined) return found;
  return container instanceof CelList ? new CelError(`index out of bounds: ${formatKey(key)}`) : noSuchKey(key);
}

/** Reports whether a value can have fields or elements at all. */
export const hasParts = (value: Value): boolean =>
  value instanceof CelMap || value instanceof CelList || value instanceof Optional || value instanceof CelError;

/** The error for a value that is neither a valid key nor a valid index. */
export function invalidKeyError(key: Value): CelError | undefined {
  switch (typeof key) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'bigint':
      return undefined;
    default:
  }
  if (key instanceof Double || key instanceof Uint) return undefined;
  if (key === null) return new CelError('invalid qualifier type: types.Null');
  if (key instanceof Uint8Array) return new CelError('invalid qualifier type: types.Bytes');
  return new CelError(`invalid qualifier type: ${typeName(key)}`);
}
