import type { JsonObject, JsonValue } from '../apimachinery/json/json.js';
import type { FieldSet } from './fieldpath/field-set.js';
import { asMap, fieldType, kindOf } from './schema/kinds.js';
import { isEmptyMap } from './value.js';
import { itemElement, itemText } from './list-items.js';
import { PathElement } from './fieldpath/path-element.js';
import type { ListType, MapType, Type } from './schema/schema.js';

/**
 * Returns the value without the fields and items in the set. A list or map that loses all of its contents becomes null.
 * The result shares the remaining parts with the value.
 */
export function removeItems(type: Type, value: JsonValue, items: FieldSet): JsonValue {
  return items.isEmpty ? value : remove(type, value, items);
}

function remove(type: Type, value: JsonValue, items: FieldSet): JsonValue {
  const kind = kindOf(type, value);
  if (kind === 'map' && type.map !== undefined) return removeFromMap(type.map, value, items);
  if (kind === 'list' && type.list !== undefined) return removeFromList(type.list, value, items);
  return value;
}

function removeFromList(type: ListType, value: JsonValue, items: FieldSet): JsonValue {
  if (!Array.isArray(value) || value.length === 0 || type.atomic) return null;
  const out: JsonValue[] = [];
  value.forEach((item, i) => {
    const node = items.get(itemElement(type, item, itemText(type, item, i)));
    if (node?.member !== true)
      out.push(node?.children === undefined ? item : remove(type.element, item, node.children));
  });
  return out.length === 0 ? null : out;
}

function removeFromMap(type: MapType, value: JsonValue, items: FieldSet): JsonValue {
  const members = asMap(value);
  if (members === undefined || type.atomic || isEmptyMap(members)) return null;
  const out: JsonObject = {};
  for (const key in members) {
    const member = members[key];
    if (member === undefined) continue;
    const node = items.get(type.fields.get(key)?.element ?? PathElement.field(key));
    if (node?.member === true) continue;
    out[key] = node?.children === undefined ? member : remove(fieldType(type, key), member, node.children);
  }
  return isEmptyMap(out) ? null : out;
}
