import { isObject, type JsonObject, type JsonValue } from '../apimachinery/json/json.js';
import { compareUtf8, quoteList } from '../apimachinery/meta/meta.js';
import { member } from './schema/kinds.js';
import { PathElement } from './fieldpath/path-element.js';
import type { ListType } from './schema/schema.js';
import { compareValues, elementText, hasAlternateText } from './value.js';

interface ListKey {
  readonly name: string;
  /** The value of the key in items that omit it. */
  readonly default: JsonValue | undefined;
}

/** The data to identify the items of one list type. Created once per list type. */
interface ItemNamer {
  /** Sorted by name, as in path elements. */
  readonly keys: readonly ListKey[];
  /** `"name":` for each key. */
  readonly labels: readonly string[];
}

const namers = new WeakMap<ListType, ItemNamer>();

function namerOf(list: ListType): ItemNamer {
  const known = namers.get(list);
  if (known !== undefined) return known;
  const fields = list.element.map?.fields;
  const keys = [...list.keys]
    .sort(compareUtf8)
    .map((name) => ({ name, default: fields?.get(name)?.default ?? undefined }));
  const namer = { keys, labels: keys.map((key) => `${JSON.stringify(key.name)}:`) };
  namers.set(list, namer);
  return namer;
}

/** Returns the reason why an item of a non-atomic list has no path element, and therefore no identity; undefined if it has one. */
export function itemProblem(list: ListType, item: JsonValue | undefined): string | undefined {
  if (list.keys.length === 0) return setItemProblem(item);
  if (item === null || item === undefined) return 'associative list with keys may not have a null element';
  if (!isObject(item)) return 'associative list with keys may not have non-map elements';
  for (const key of namerOf(list).keys) if (keyValue(item, key) !== undefined) return undefined;
  return `associative list with keys has an element that omits all key fields ${quoteList(list.keys)} (and doesn't have default values for any key fields)`;
}

function setItemProblem(item: JsonValue | undefined): string | undefined {
  if (item === null || item === undefined)
    return "associative list without keys has an element that's an explicit null";
  if (typeof item !== 'object') return undefined;
  return Array.isArray(item)
    ? 'not supported: associative list with lists as elements'
    : "associative list without keys has an element that's a map type";
}

/**
 * Returns the serialized path element of an item. Equal items have equal texts, unless their numbers are written
 * differently. Cheaper than creating the element. An item without an element, which validation prevents, gets a text
 * that equals no other.
 */
export function itemText(list: ListType, item: JsonValue | undefined, index: number): string {
  if (list.keys.length > 0) return keyedText(namerOf(list), item, index);
  return item === null || typeof item === 'object' || item === undefined
    ? `!${String(index)}`
    : `v:${elementText(item)}`;
}

function keyedText({ keys, labels }: ItemNamer, item: JsonValue | undefined, index: number): string {
  if (!isObject(item)) return `!${String(index)}`;
  let text = '';
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    const value = key === undefined ? undefined : keyValue(item, key);
    if (value === undefined) continue;
    text += `${text === '' ? 'k:{' : ','}${labels[i] ?? ''}${elementText(value)}`;
  }
  return text === '' ? `!${String(index)}` : `${text}}`;
}

/** The maximum number of items with the same rounded numbers that are compared. Any further ones count as different. */
const MAX_PEERS = 64;

/**
 * Names the items of lists that are compared with each other, so that equal items get equal names. The texts of path
 * elements do that too, except for equal numbers that are written differently: -0 and 0, integers beyond 2^53 and
 * floats.
 */
export class ItemNames {
  /** Items with such numbers, by their text with all numbers as floats. Created on first use. */
  private peers: Map<string, { readonly values: JsonValue[]; readonly text: string }[]> | undefined;
  private exact: Set<string> | undefined;

  private readonly namer: ItemNamer | undefined;

  constructor(private readonly list: ListType) {
    if (list.keys.length > 0) this.namer = namerOf(list);
  }

  /** Returns the serialized path element of the first item that is equal to this one. */
  of(item: JsonValue | undefined, index: number): string {
    const { namer } = this;
    const text = namer === undefined ? itemText(this.list, item, index) : keyedText(namer, item, index);
    return !this.hasAlternateText(item) || this.exact?.has(text) === true ? text : this.twin(item, text);
  }

  private hasAlternateText(item: JsonValue | undefined): boolean {
    if (this.namer === undefined) return hasAlternateText(item);
    if (!isObject(item)) return false;
    for (const key of this.namer.keys) if (hasAlternateText(keyValue(item, key))) return true;
    return false;
  }

  private twin(item: JsonValue | undefined, text: string): string {
    const values = isObject(item) ? (this.namer?.keys ?? []).map((key) => keyValue(item, key) ?? null) : [item ?? null];
    const rounded = elementText(values.map((value) => (hasAlternateText(value) ? Number(value) + 0 : value)));
    this.peers ??= new Map();
    let peers = this.peers.get(rounded);
    if (peers === undefined) this.peers.set(rounded, (peers = []));
    const same = peers.find((peer) => compareValues(peer.values, values) === 0);
    if (same !== undefined) return same.text;
    this.exact = (this.exact ?? new Set()).add(text);
    if (peers.length < MAX_PEERS) peers.push({ values, text });
    return text;
  }
}

/** Null is a value, so it is not replaced with the default. */
function keyValue(item: JsonObject, key: ListKey): JsonValue | undefined {
  const value = member(item, key.name);
  return value === undefined ? key.default : value;
}

/**
 * Reports whether two lists have the same items at the same positions without duplicates, based on a single key that is
 * a string: this common case avoids naming the items. False does not mean that they differ.
 */
export function haveSameKeyOrder(list: ListType, a: readonly JsonValue[], b: readonly JsonValue[]): boolean {
  const [key, second] = list.keys;
  if (key === undefined || second !== undefined || a.length !== b.length) return false;
  const seen = new Set<JsonValue | undefined>();
  for (let i = 0; i < a.length; i++) {
    const was = a[i];
    const is = b[i];
    if (!isObject(was) || !isObject(is)) return false;
    const value = was[key];
    if (typeof value !== 'string' || value !== is[key] || seen.has(value)) return false;
    seen.add(value);
  }
  return true;
}

/** Returns the path element of an item whose text is known. */
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
