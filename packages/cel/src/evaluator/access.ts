import { toText } from '../library/conversions.js';
import { CelError, CelList, CelMap, Double, Optional, typeName, Uint, type Value } from '../values/value.js';

/** A value as error texts print it. */
export function shown(value: Value): string {
  const text = toText(value);
  return typeof text === 'string' ? text : typeName(value);
}

export const noSuchKey = (key: Value): CelError => new CelError(`no such key: ${shown(key)}`);

/** The integer that an index stands for, or why it is none. */
function listIndex(index: Value): number | CelError {
  if (typeof index === 'number') return index;
  if (index instanceof Double || index instanceof Uint) {
    const number = Number(index.value);
    return Number.isSafeInteger(number) ? number : new CelError(`unsupported index value ${shown(index)} in list`);
  }
  return typeof index === 'bigint' ? -1 : new CelError(`unsupported index type '${typeName(index)}' in list`);
}

/** What stands at a key or index; undefined: nothing. */
export function lookup(container: Value, key: Value): Value | undefined {
  if (container instanceof CelMap) return container.find(key);
  if (container instanceof CelList) {
    const index = listIndex(key);
    if (index instanceof CelError) return index;
    return index >= 0 && index < container.size ? container.get(index) : undefined;
  }
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
  const bad = badKey(key);
  if (bad !== undefined) return bad;
  const found = lookup(container, key);
  if (found !== undefined) return found;
  return container instanceof CelList ? new CelError(`index out of bounds: ${shown(key)}`) : noSuchKey(key);
}

/** Whether a value can have parts at all. */
export const hasParts = (value: Value): boolean =>
  value instanceof CelMap || value instanceof CelList || value instanceof Optional || value instanceof CelError;

/** The error of a value that can be neither a key nor an index. */
export function badKey(key: Value): CelError | undefined {
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
