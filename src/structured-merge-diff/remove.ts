import type { JsonObject, JsonValue } from '../apimachinery/json/json.js';
import { FieldSet, type SetNode } from './fieldpath/field-set.js';
import { fieldType, isEmptyMap, kindOf } from './schema/kinds.js';
import { itemElement, itemText } from './list-items.js';
import { PathElement } from './fieldpath/path-element.js';
import type { ListType, MapType, Type } from './schema/schema.js';

/**
 * Returns the value without the fields and items in the set. A list or map that loses all of its contents becomes null.
 * The result shares the remaining parts with the value.
 */
export function removeItems(type: Type, value: JsonValue, items: FieldSet): JsonValue {
  return items.isEmpty ? value : pick(type, value, items, 'remove');
}

/** Returns the value with only the fields and items in the set. */
export function extractItems(type: Type, value: JsonValue, items: FieldSet): JsonValue {
  return pick(type, value, items, 'extract');
}

type Mode = 'extract' | 'remove';

function pick(type: Type, value: JsonValue, items: FieldSet, mode: Mode): JsonValue {
  const kind = kindOf(type, value);
  if (kind === 'map' && type.map !== undefined) return pickFromMap(type.map, value, items, mode);
  if (kind === 'list' && type.list !== undefined) return pickFromList(type.list, value, items, mode);
  return value;
}

function pickFromList(type: ListType, value: JsonValue, items: FieldSet, mode: Mode): JsonValue {
  if (!Array.isArray(value)) return null;
  if (value.length === 0 || type.atomic) return mode === 'extract' ? value : null;
  const out: JsonValue[] = [];
  value.forEach((item, i) => {
    const node = items.get(itemElement(type, item, itemText(type, item, i)));
    if (mode === 'extract') {
      if (node !== undefined)
        out.push(node.children === undefined ? item : pick(type.element, item, node.children, 'extract'));
    } else if (node?.member !== true) {
      out.push(node?.children === undefined ? item : pick(type.element, item, node.children, 'remove'));
    }
  });
  return out.length === 0 ? null : out;
}

function pickFromMap(type: MapType, value: JsonValue, items: FieldSet, mode: Mode): JsonValue {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  if (type.atomic || isEmptyMap(value)) return mode === 'extract' ? value : null;
  const out: JsonObject = {};
  for (const key in value) {
    const member = value[key];
    if (member === undefined) continue;
    const node = items.get(type.fields.get(key)?.element ?? PathElement.field(key));
    if (mode === 'extract' ? node === undefined : node?.member === true) continue;
    out[key] = node === undefined ? member : pickMember(fieldType(type, key), member, node, mode);
  }
  return isEmptyMap(out) ? null : out;
}

function pickMember(type: Type, value: JsonValue, node: SetNode, mode: Mode): JsonValue {
  if (node.children !== undefined) return pick(type, value, node.children, mode);
  return mode === 'extract' ? pick(type, value, FieldSet.empty, 'extract') : value;
}
