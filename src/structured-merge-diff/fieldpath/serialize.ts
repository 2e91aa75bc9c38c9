import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import { isEmptyMap } from '../value.js';
import { FieldSet, nonEmpty, type SetNode } from './field-set.js';
import { PathElement } from './path-element.js';

/** The maximum nesting of a set that is read. As in kube-apiserver, it is that of JSON. */
export const MAX_DEPTH = 10_000;

/** Returns the FieldsV1 form of a set, with sorted keys. Every call returns a new object. */
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

export interface ReadFields {
  readonly set: FieldSet;
  /** True if the input is exactly how the set is written. */
  readonly canonical: boolean;
}

/** Parses the FieldsV1 form. Elements of unknown kinds are skipped. Throws SyntaxError. */
export function readFieldsV1(fields: JsonObject): ReadFields {
  const reader = new Reader();
  const set = reader.read(fields, 0) ?? FieldSet.empty;
  return { set, canonical: reader.canonical };
}

class Reader {
  canonical = true;
  /** True if the fields that were read last make the element above them a member: they have a dot or are empty. */
  private member = false;

  read(fields: JsonObject, depth: number): FieldSet | undefined {
    if (depth > MAX_DEPTH) throw new SyntaxError('exceeded max depth');
    const nodes: SetNode[] = [];
    let member = false;
    let ordered = true;
    let last: PathElement | undefined;
    for (const key in fields) {
      const below = fields[key];
      if (below === undefined) continue;
      if (key === '.') {
        member = true;
        if (last !== undefined || !isObject(below) || !isEmptyMap(below)) this.canonical = false;
        continue;
      }
      const element = PathElement.parse(key);
      if (element === undefined) {
        this.canonical = false;
        continue;
      }
      if (element.text !== key) this.canonical = false;
      if (last !== undefined && last.compare(element) >= 0) ordered = false;
      nodes.push(this.node(element, below, depth));
      last = element;
    }
    if (nodes.length === 0 && member) this.canonical = false;
    this.member = member || nodes.length === 0;
    if (ordered) return nonEmpty(FieldSet.ofSorted(nodes));
    this.canonical = false;
    return nonEmpty(fromUnordered(nodes));
  }

  private node(element: PathElement, below: JsonValue, depth: number): SetNode {
    if (below === null) {
      this.canonical = false;
      return { element, member: true, children: undefined };
    }
    if (!isObject(below)) throw new SyntaxError('expect { or n, but found something else');
    const children = this.read(below, depth + 1);
    return { element, member: this.member, children };
  }
}

/** Two spellings of one key (with its fields in a different order) are the same element. */
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
