import { deepEqual, type JsonValue } from '../apimachinery/json/json.js';
import { FieldSet, type SetNode } from './fieldpath/field-set.js';
import { asMap, fieldType, type Kind, kindOf, member } from './schema/kinds.js';
import { isEmptyMap } from './value.js';
import { itemElement, ItemNames, itemText, haveSameKeyOrder } from './list-items.js';
import { PathElement } from './fieldpath/path-element.js';
import type { ListType, MapType, Type } from './schema/schema.js';
import { addedContent, type Content, LEAF } from './to-field-set.js';

/** The result of comparing two values. */
export interface Comparison {
  readonly removed: FieldSet;
  readonly modified: FieldSet;
  readonly added: FieldSet;
}

const NO_CHANGE: Comparison = { removed: FieldSet.empty, modified: FieldSet.empty, added: FieldSet.empty };

/** The changes at and below one value. undefined means no change, so that equal parts cost no more than a comparison. */
interface Change {
  readonly removed?: Content | undefined;
  readonly modified?: Content | undefined;
  readonly added?: Content | undefined;
}

const MODIFIED: Change = { modified: LEAF };

/** Compares `after` with `before`, a value of the type. */
export function compare(type: Type, before: JsonValue | undefined, after: JsonValue | undefined): Comparison {
  const change = compareValue(type, before, after);
  if (change === undefined) return NO_CHANGE;
  return {
    removed: change.removed?.children ?? FieldSet.empty,
    modified: change.modified?.children ?? FieldSet.empty,
    added: change.added?.children ?? FieldSet.empty,
  };
}

function compareValue(type: Type, before: JsonValue | undefined, after: JsonValue | undefined): Change | undefined {
  if (before === after) return undefined;
  if (before === undefined) return { added: addedContent(type, after) };
  if (after === undefined) return { removed: addedContent(type, before) };
  const was = kindOf(type, before);
  const is = kindOf(type, after);
  const change = compareAs(is, type, before, after);
  // If the kind of the value changed, compare it as both kinds.
  return was === is ? change : merge(compareAs(was, type, before, after), change);
}

function compareAs(kind: Kind, type: Type, before: JsonValue, after: JsonValue): Change | undefined {
  if (kind === 'map' && type.map !== undefined) return compareMaps(type.map, before, after);
  if (kind === 'list' && type.list !== undefined) return compareLists(type.list, before, after);
  return compareLeaves(before, after);
}

function compareLeaves(before: JsonValue, after: JsonValue): Change | undefined {
  return deepEqual(before, after, 'as floats') ? undefined : MODIFIED;
}

function compareMaps(type: MapType, before: JsonValue, after: JsonValue): Change | undefined {
  const was = asMap(before);
  const is = asMap(after);
  const empty = (was === undefined || isEmptyMap(was)) && (is === undefined || isEmptyMap(is));
  if (type.atomic || empty) return compareLeaves(before, after);
  let changes: Changes | undefined;
  for (const key in was) {
    const old = was[key];
    if (old === undefined) continue;
    const now = is === undefined ? undefined : member(is, key);
    if (old === now) continue;
    const change = compareValue(fieldType(type, key), old, now);
    if (change !== undefined) (changes ??= new Changes()).add(elementOf(type, key), change);
  }
  for (const key in is) {
    const now = is[key];
    if (now === undefined || (was !== undefined && member(was, key) !== undefined)) continue;
    const change = compareValue(fieldType(type, key), undefined, now);
    if (change !== undefined) (changes ??= new Changes()).add(elementOf(type, key), change);
  }
  return changes?.done();
}

function elementOf(type: MapType, key: string): PathElement {
  return type.fields.get(key)?.element ?? PathElement.field(key);
}

function compareLists(type: ListType, before: JsonValue, after: JsonValue): Change | undefined {
  const was = Array.isArray(before) ? before : [];
  const is = Array.isArray(after) ? after : [];
  if (type.atomic || (was.length === 0 && is.length === 0)) return compareLeaves(before, after);
  if (haveSameKeyOrder(type, was, is)) return compareByIndex(type, was, is);
  const names = new ItemNames(type);
  const old = indexItems(names, was);
  const now = indexItems(names, is);
  let changes: Changes | undefined;
  for (const [text, items] of old) {
    const change = compareItems(type, items, now.get(text));
    if (change !== undefined) (changes ??= new Changes()).add(itemElement(type, firstOf(items), text), change);
  }
  for (const [text, items] of now) {
    if (old.has(text)) continue;
    const change = compareItems(type, undefined, items);
    if (change !== undefined) (changes ??= new Changes()).add(itemElement(type, firstOf(items), text), change);
  }
  return changes?.done();
}

function compareByIndex(type: ListType, was: readonly JsonValue[], is: readonly JsonValue[]): Change | undefined {
  let changes: Changes | undefined;
  for (let i = 0; i < was.length; i++) {
    const change = compareValue(type.element, was[i], is[i]);
    if (change !== undefined)
      (changes ??= new Changes()).add(itemElement(type, is[i], itemText(type, is[i], i)), change);
  }
  return changes?.done();
}

/** Several items with the same name. */
class Duplicates {
  constructor(readonly items: JsonValue[]) {}
}

type Items = JsonValue | Duplicates;

const firstOf = (items: Items): JsonValue => (items instanceof Duplicates ? (items.items[0] ?? null) : items);

function indexItems(names: ItemNames, items: readonly JsonValue[]): Map<string, Items> {
  const index = new Map<string, Items>();
  for (let i = 0; i < items.length; i++) {
    const item = items[i] ?? null;
    const text = names.of(item, i);
    const same = index.get(text);
    if (same === undefined) index.set(text, item);
    else if (same instanceof Duplicates) same.items.push(item);
    else index.set(text, new Duplicates([same, item]));
  }
  return index;
}

/**
 * Compares two unique items with each other, and duplicates of one name as a single value. If a unique item becomes a
 * duplicate or the reverse, the fields of the unique item are also removed or added.
 */
function compareItems(type: ListType, before: Items | undefined, after: Items | undefined): Change | undefined {
  if (before instanceof Duplicates) {
    if (after instanceof Duplicates) return compareLeaves(before.items, after.items);
    const below = after === undefined ? undefined : addedContent(type.element, after);
    return { removed: LEAF, added: below };
  }
  if (!(after instanceof Duplicates)) return compareValue(type.element, before, after);
  const below = before === undefined ? undefined : addedContent(type.element, before);
  return { added: LEAF, removed: below };
}

/** Collects the changes of the members of a map or list. */
class Changes {
  private removed: SetNode[] | undefined;
  private modified: SetNode[] | undefined;
  private added: SetNode[] | undefined;

  add(element: PathElement, change: Change): void {
    if (change.removed !== undefined) (this.removed ??= []).push(node(element, change.removed));
    if (change.modified !== undefined) (this.modified ??= []).push(node(element, change.modified));
    if (change.added !== undefined) (this.added ??= []).push(node(element, change.added));
  }

  done(): Change {
    return { removed: content(this.removed), modified: content(this.modified), added: content(this.added) };
  }
}

const node = (element: PathElement, { member, children }: Content): SetNode => ({ element, member, children });

const content = (nodes: SetNode[] | undefined): Content | undefined =>
  nodes === undefined ? undefined : { member: false, children: FieldSet.ofNodes(nodes) };

function merge(a: Change | undefined, b: Change | undefined): Change | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return {
    removed: mergeContent(a.removed, b.removed),
    modified: mergeContent(a.modified, b.modified),
    added: mergeContent(a.added, b.added),
  };
}

function mergeContent(a: Content | undefined, b: Content | undefined): Content | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const children =
    a.children === undefined || b.children === undefined ? (a.children ?? b.children) : a.children.union(b.children);
  return { member: a.member || b.member, children };
}
