import type { JsonValue } from '../apimachinery/json/json.js';
import { FieldSet, nonEmpty, type SetNode } from './fieldpath/field-set.js';
import { asMap, kindOf } from './schema/kinds.js';
import { isEmptyMap } from './value.js';
import { itemElement, ItemNames } from './list-items.js';
import { PathElement } from './fieldpath/path-element.js';
import type { ListType, MapType, Type } from './schema/schema.js';

/** The part of a set that a value contributes: whether the value itself is a member, and the members below it. */
export interface Content {
  readonly member: boolean;
  readonly children: FieldSet | undefined;
}

export const LEAF: Content = { member: true, children: undefined };
const NOTHING: Content = { member: false, children: undefined };

/** Returns the fields that a configuration specifies: leaves, items of lists, and keys of maps that are not structs. */
export function toFieldSet(type: Type, value: JsonValue | undefined): FieldSet {
  return mentioned(type, value).children ?? FieldSet.empty;
}

function mentioned(type: Type, value: JsonValue | undefined): Content {
  switch (kindOf(type, value)) {
    case 'map':
      if (type.map === undefined) return NOTHING;
      if (type.map.atomic) return LEAF;
      return { member: false, children: mapContent(type.map, value, mentionedInMap) };
    case 'list':
      if (type.list === undefined) return NOTHING;
      if (type.list.atomic) return LEAF;
      return { member: false, children: listContent(type.list, value, mentioned) };
    case 'scalar':
      return LEAF;
    case 'none':
      return NOTHING;
  }
}

function mentionedInMap(type: Type, value: JsonValue, declared: boolean): Content {
  const content = mentioned(type, value);
  if (content.member) return content;
  const members = asMap(value);
  const empty = value === null || (members !== undefined && isEmptyMap(members));
  return empty || !declared ? { member: true, children: content.children } : content;
}

/** Returns all fields that a new value adds: like toFieldSet(), but including every map and list on the path. */
export function addedContent(type: Type, value: JsonValue | undefined): Content {
  switch (kindOf(type, value)) {
    case 'map':
      return type.map === undefined || type.map.atomic
        ? LEAF
        : { member: true, children: mapContent(type.map, value, addedContent) };
    case 'list':
      return type.list === undefined || type.list.atomic
        ? LEAF
        : { member: true, children: listContent(type.list, value, addedContent) };
    default:
      return LEAF;
  }
}

function mapContent(
  map: MapType,
  value: JsonValue | undefined,
  contentOf: (type: Type, value: JsonValue, declared: boolean) => Content,
): FieldSet | undefined {
  const members = asMap(value);
  if (members === undefined) return undefined;
  const nodes: SetNode[] = [];
  for (const key in members) {
    const member = members[key];
    if (member === undefined) continue;
    const field = map.fields.get(key);
    const type = field?.type ?? map.element;
    if (type === undefined) continue;
    const content = contentOf(type, member, field !== undefined);
    if (!content.member && content.children === undefined) continue;
    nodes.push({
      element: field?.element ?? PathElement.field(key),
      member: content.member,
      children: content.children,
    });
  }
  return nodes.length === 0 ? undefined : FieldSet.ofNodes(nodes);
}

function listContent(
  list: ListType,
  value: JsonValue | undefined,
  contentOf: (type: Type, value: JsonValue | undefined) => Content,
): FieldSet | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const nodes = new Map<string, SetNode>();
  const names = new ItemNames(list);
  for (let i = 0; i < value.length; i++) {
    const item = value[i];
    const text = names.of(item, i);
    const same = nodes.get(text);
    if (same === undefined) {
      const element = itemElement(list, item, text);
      nodes.set(text, { element, member: true, children: contentOf(list.element, item).children });
    } else if (same.children !== undefined) {
      // A duplicate item is a member without its fields.
      nodes.set(text, { element: same.element, member: true, children: undefined });
    }
  }
  return nonEmpty(FieldSet.ofNodes([...nodes.values()]));
}
