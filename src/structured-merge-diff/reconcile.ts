import { FieldSet, type SetNode } from './fieldpath/field-set.js';
import { DEDUCED, type MapType, type Type, UNTYPED } from './schema/schema.js';

/**
 * Adapts a set that was written under an older schema to the type: if a map or list has become atomic, the owner of any
 * part of it now owns the whole. (A value that is no longer atomic is left as it was.) Returns the set itself if
 * nothing changes.
 */
export function reconcile(type: Type, set: FieldSet): FieldSet {
  if (type.map !== undefined)
    return isUntyped(type.map) ? set : reconcileNodes(set, (node) => mapMember(type.map, node));
  if (type.scalar !== undefined) return set;
  return type.list === undefined ? set : reconcileNodes(set, () => type.list?.element);
}

function reconcileNodes(set: FieldSet, typeOf: (node: SetNode) => Type | undefined): FieldSet {
  const out: SetNode[] = [];
  let changed = false;
  for (const node of set.nodes) {
    const type = node.children === undefined ? undefined : typeOf(node);
    const reconciled = type === undefined ? node : reconcileNode(type, node);
    if (reconciled !== node) changed = true;
    out.push(reconciled);
  }
  return changed ? FieldSet.ofSorted(out) : set;
}

function reconcileNode(type: Type, node: SetNode): SetNode {
  if (node.children === undefined) return node;
  if (
    type.map !== undefined
      ? !isUntyped(type.map) && type.map.atomic
      : type.scalar === undefined && type.list?.atomic === true
  ) {
    return { element: node.element, member: true, children: undefined };
  }
  const children = reconcile(type, node.children);
  return children === node.children ? node : { element: node.element, member: node.member, children };
}

/** Fields that are not in the schema are not changed. */
function mapMember(map: MapType | undefined, node: SetNode): Type | undefined {
  const name = node.element.fieldName;
  return (name === undefined ? undefined : map?.fields.get(name)?.type) ?? map?.element;
}

/** Reports whether a map declares no fields and allows any. */
function isUntyped(map: MapType): boolean {
  const { element } = map;
  return map.fields.size === 0 && (element === DEDUCED || (element?.scalar === 'untyped' && element !== UNTYPED));
}
