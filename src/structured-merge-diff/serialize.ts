import { isObject, type JsonObject } from '../apimachinery/json.js';
import { FieldSet, nonEmpty, type SetNode } from './field-set.js';
import { PathElement } from './path-element.js';

/** Deepest nesting of a set that is read; nothing that this program writes comes near it. */
export const MAX_DEPTH = 1000;

/** The FieldsV1 form of a set, its keys in order. A new object at every call. */
export function toFieldsV1(set: FieldSet): JsonObject {
  const out: JsonObject = {};
  for (const node of set.nodes) {
    if (node.children === undefined) {
      out[node.element.text] = {};
      continue;
    }
    if (!node.member) {
      out[node.element.text] = toFieldsV1(node.children);
      continue;
    }
    const inner: JsonObject = { '.': {} };
    out[node.element.text] = Object.assign(inner, toFieldsV1(node.children));
  }
  return out;
}

/** Reads the FieldsV1 form. Elements of unknown kind are left out. Throws SyntaxError. */
export function fromFieldsV1(fields: JsonObject): FieldSet {
  return read(fields, 0).children ?? FieldSet.empty;
}

/** What stands below an element; `member`: the element itself is in the set, because it says so or because nothing is below it. */
function read(fields: JsonObject, depth: number): { children: FieldSet | undefined; member: boolean } {
  if (depth > MAX_DEPTH) throw new SyntaxError('exceeded max depth');
  const nodes: SetNode[] = [];
  let member = false;
  let ordered = true;
  for (const key in fields) {
    const below = fields[key];
    if (below === undefined) continue;
    if (key === '.') {
      member = true;
      continue;
    }
    const element = PathElement.parse(key);
    if (element === undefined) continue;
    if (below !== null && !isObject(below)) throw new SyntaxError('expect { or n, but found something else');
    const node = { element, ...(below === null ? { children: undefined, member: true } : read(below, depth + 1)) };
    const last = nodes[nodes.length - 1];
    if (last !== undefined && last.element.compare(element) >= 0) ordered = false;
    nodes.push(node);
  }
  if (nodes.length === 0) return { children: undefined, member: true };
  return { children: nonEmpty(ordered ? FieldSet.ofSorted(nodes) : fromUnordered(nodes)), member };
}

/** Two spellings of one key (its fields in another order) are one element. */
function fromUnordered(nodes: SetNode[]): FieldSet {
  const byText = new Map<string, SetNode>();
  for (const node of nodes) {
    const same = byText.get(node.element.text);
    byText.set(
      node.element.text,
      same === undefined
        ? node
        : { element: same.element, member: same.member || node.member, children: node.children ?? same.children },
    );
  }
  return FieldSet.ofNodes([...byText.values()]);
}
