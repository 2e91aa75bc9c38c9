import { isObject, type JsonObject, type JsonValue } from '../apimachinery/json.js';
import { compareUtf8, quote } from '../apimachinery/meta.js';
import { member } from './kinds.js';
import { PathElement } from './path-element.js';
import type { ListType } from './schema.js';
import { elementString, elementText } from './value.js';

interface ListKey {
  readonly name: string;
  /** What stands in where an item lacks the key. */
  readonly default: JsonValue | undefined;
}

/** How the items of one list are told apart; made once per list type. */
interface ItemNamer {
  /** By name, which is their order in path elements. */
  readonly keys: readonly ListKey[];
  /** `"name":` for each key. */
  readonly labels: readonly string[];
}

const namers = new WeakMap<ListType, ItemNamer>();

function namerOf(list: ListType): ItemNamer {
  const known = namers.get(list);
  if (known !== undefined) return known;
  const fields = list.element.map?.fields;
  const keys = [...list.keys].sort(compareUtf8).map((name) => ({ name, default: fields?.get(name)?.default ?? undefined }));
  const namer = { keys, labels: keys.map((key) => `${JSON.stringify(key.name)}:`) };
  namers.set(list, namer);
  return namer;
}

/**
 * The serialized path element of an item, by which items are equal; or an Error that says why the item has none. For lists that
 * are not atomic. Cheaper than the element itself.
 */
export function itemText(list: ListType, item: JsonValue | undefined): string | Error {
  if (list.keys.length === 0) return setItemText(item);
  if (item === null || item === undefined) return new Error('associative list with keys may not have a null element');
  if (!isObject(item)) return new Error('associative list with keys may not have non-map elements');
  const { keys, labels } = namerOf(list);
  let text = '';
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    const value = key === undefined ? undefined : keyValue(item, key);
    if (value === undefined) continue;
    text += `${text === '' ? 'k:{' : ','}${labels[i] ?? ''}${typeof value === 'string' ? elementString(value) : elementText(value)}`;
  }
  if (text !== '') return `${text}}`;
  const names = list.keys.map(quote).join(' ');
  return new Error(
    `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
  );
}

/** A null is a value of its own, for which no default stands in. */
function keyValue(item: JsonObject, key: ListKey): JsonValue | undefined {
  const value = member(item, key.name);
  return value === undefined ? key.default : value;
}

function setItemText(item: JsonValue | undefined): string | Error {
  if (typeof item === 'string') return `v:${elementString(item)}`;
  if (item === null || item === undefined) {
    return new Error("associative list without keys has an element that's an explicit null");
  }
  if (Array.isArray(item)) return new Error('not supported: associative list with lists as elements');
  if (isObject(item)) return new Error("associative list without keys has an element that's a map type");
  return `v:${elementText(item)}`;
}

/** The path element of an item whose text is known. */
export function itemElement(list: ListType, item: JsonValue | undefined, text: string): PathElement {
  if (list.keys.length === 0 || !isObject(item)) return PathElement.value(item ?? null, text);
  const names: string[] = [];
  const values: JsonValue[] = [];
  for (const key of namerOf(list).keys) {
    const value = keyValue(item, key);
    if (value === undefined) continue;
    names.push(key.name);
    values.push(value);
  }
  return PathElement.keys(names, values, text);
}

/** As itemText(), for items that were validated; what has no element of its own is never equal to another. */
export function knownItemText(list: ListType, item: JsonValue | undefined, index: number): string {
  const text = itemText(list, item);
  return typeof text === 'string' ? text : `!${String(index)}`;
}
