import type { PathElement } from './path-element.js';

/** The fields that a type declares, and the types of the parts of its values. */
interface Declared {
  readonly list?: { readonly element: Declared } | undefined;
  readonly map?:
    | {
        readonly fields: { get(name: string): { readonly type: Declared } | undefined };
        readonly element: Declared | undefined;
      }
    | undefined;
}

/** One element of a set: whether it is a member itself, and the members below it. At least one of the two applies. */
export interface SetNode {
  readonly element: PathElement;
  readonly member: boolean;
  /** Never an empty set. */
  readonly children: FieldSet | undefined;
}

const byElement = (a: SetNode, b: SetNode): number => a.element.compare(b.element);

/**
 * A set of paths. Immutable. Operations share unchanged parts and return the set itself if the result equals it, so
 * that caches can use identity for equality.
 */
export class FieldSet {
  static readonly empty = new FieldSet([]);

  private constructor(
    /** Sorted by element, without duplicates. */
    readonly nodes: readonly SetNode[],
  ) {}

  /** Takes ownership of the array, which must be sorted by element. */
  static ofSorted(nodes: readonly SetNode[]): FieldSet {
    return nodes.length === 0 ? FieldSet.empty : new FieldSet(nodes);
  }

  /** Takes ownership of the array, in any order but without duplicate elements. */
  static ofNodes(nodes: SetNode[]): FieldSet {
    return FieldSet.ofSorted(sortNodes(nodes));
  }

  static ofPaths(paths: Iterable<readonly PathElement[]>): FieldSet {
    let set = FieldSet.empty;
    for (const path of paths) set = set.union(FieldSet.ofPath(path, 0));
    return set;
  }

  /** Returns the union of any number of sets. Each set is walked a logarithmic number of times. */
  static unionOf(sets: readonly FieldSet[]): FieldSet {
    if (sets.length <= 2) return (sets[0] ?? FieldSet.empty).union(sets[1] ?? FieldSet.empty);
    const middle = sets.length >>> 1;
    return FieldSet.unionOf(sets.slice(0, middle)).union(FieldSet.unionOf(sets.slice(middle)));
  }

  /** The empty path is not a member of any set. */
  private static ofPath(path: readonly PathElement[], from: number): FieldSet {
    const element = path[from];
    if (element === undefined) return FieldSet.empty;
    const last = from === path.length - 1;
    return new FieldSet([{ element, member: last, children: last ? undefined : FieldSet.ofPath(path, from + 1) }]);
  }

  get isEmpty(): boolean {
    return this.nodes.length === 0;
  }

  get size(): number {
    let count = 0;
    for (const node of this.nodes) count += (node.member ? 1 : 0) + (node.children?.size ?? 0);
    return count;
  }

  /** Returns the node of an element, or undefined if there is none. */
  get(element: PathElement): SetNode | undefined {
    let low = 0;
    let high = this.nodes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const node = this.nodes[middle];
      if (node === undefined) return undefined;
      const order = node.element.compare(element);
      if (order === 0) return node;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return undefined;
  }

  has(path: readonly PathElement[]): boolean {
    const last = path[path.length - 1];
    if (last === undefined) return false;
    let set: FieldSet | undefined;
    for (let i = 0; i < path.length - 1; i++) {
      const element = path[i];
      set = element === undefined ? undefined : (set ?? this).get(element)?.children;
      if (set === undefined) return false;
    }
    return (set ?? this).get(last)?.member === true;
  }

  /** Visits all members, each level before the levels below it. The path array is reused: copy it to keep it. */
  forEach(visit: (path: readonly PathElement[]) => void): void {
    walk(this, [], visit);
  }

  equals(other: FieldSet): boolean {
    if (this === other) return true;
    if (this.nodes.length !== other.nodes.length) return false;
    for (let i = 0; i < this.nodes.length; i++) {
      const a = this.nodes[i];
      const b = other.nodes[i];
      if (a === undefined || b === undefined || a.member !== b.member) return false;
      if (a.element.compare(b.element) !== 0) return false;
      if (a.children === undefined || b.children === undefined) {
        if (a.children !== b.children) return false;
      } else if (!a.children.equals(b.children)) return false;
    }
    return true;
  }

  isSubsetOf(other: FieldSet): boolean {
    return this === other || this.difference(other).isEmpty;
  }

  union(other: FieldSet): FieldSet {
    if (this === other || other.isEmpty) return this;
    if (this.isEmpty) return other;
    const out: SetNode[] = [];
    let changed = false;
    let i = 0;
    let j = 0;
    for (
      let a = this.nodes[i], b = other.nodes[j];
      a !== undefined || b !== undefined;
      a = this.nodes[i], b = other.nodes[j]
    ) {
      const order = a === undefined ? 1 : b === undefined ? -1 : byElement(a, b);
      if (order < 0 && a !== undefined) out.push(a);
      else if (order > 0 && b !== undefined) {
        out.push(b);
        changed = true;
      } else if (a !== undefined && b !== undefined) {
        const both = unionNode(a, b);
        if (both !== a) changed = true;
        out.push(both);
      }
      if (order <= 0) i++;
      if (order >= 0) j++;
    }
    return changed ? new FieldSet(out) : this;
  }

  intersection(other: FieldSet): FieldSet {
    if (this === other) return this;
    return this.filterNodes(other, (a, b) => (b === undefined ? undefined : intersectNode(a, b)));
  }

  /** Returns the members that are not in `other`. A path does not include the paths below it. */
  difference(other: FieldSet): FieldSet {
    return this.subtract(other, false);
  }

  /** Like difference(), but a path in `other` also removes all paths below it. */
  recursiveDifference(other: FieldSet): FieldSet {
    return this.subtract(other, true);
  }

  private subtract(other: FieldSet, recursive: boolean): FieldSet {
    if (this.isEmpty || this === other) return FieldSet.empty;
    if (other.isEmpty) return this;
    return this.filterNodes(other, (a, b) => (b === undefined ? a : subtractNode(a, b, recursive)));
  }

  /** Applies `keep` to each node and the corresponding node of `other`, and returns a set of the results. */
  private filterNodes(
    other: FieldSet,
    keep: (node: SetNode, other: SetNode | undefined) => SetNode | undefined,
  ): FieldSet {
    const out: SetNode[] = [];
    let changed = false;
    let j = 0;
    for (const node of this.nodes) {
      j = advance(other.nodes, j, node);
      const found = other.nodes[j];
      const isFound = found !== undefined && byElement(node, found) === 0;
      const kept = keep(node, isFound ? found : undefined);
      // Each node of `other` matches only once: with floats the next node may compare equal to it too.
      if (isFound) j++;
      if (kept !== undefined) out.push(kept);
      if (kept !== node) changed = true;
    }
    return changed ? FieldSet.ofSorted(out) : this;
  }

  /** Returns the members without members below them. */
  leaves(): FieldSet {
    const out: SetNode[] = [];
    let changed = false;
    for (const node of this.nodes) {
      if (node.children === undefined) {
        out.push(node);
        continue;
      }
      const children = node.children.leaves();
      const same = !node.member && children === node.children;
      out.push(same ? node : { element: node.element, member: false, children });
      if (!same) changed = true;
    }
    return changed ? new FieldSet(out) : this;
  }

  /** Adds the declared fields of structs on the paths to members. Sets of values do not contain these fields. */
  withNamedFields(type: Declared | undefined): FieldSet {
    const out: SetNode[] = [];
    let changed = false;
    for (const node of this.nodes) {
      if (node.children === undefined) {
        out.push(node);
        continue;
      }
      const name = node.element.fieldName;
      const field = name === undefined ? undefined : type?.map?.fields.get(name);
      const children = node.children.withNamedFields(childType(type, node.element, field?.type));
      const member = node.member || field !== undefined;
      const same = member === node.member && children === node.children;
      out.push(same ? node : { element: node.element, member, children });
      if (!same) changed = true;
    }
    return changed ? new FieldSet(out) : this;
  }

  /** Returns one member per line, for the messages of tests. */
  toString(): string {
    const lines: string[] = [];
    this.forEach((path) => lines.push(path.join('')));
    return lines.join('\n');
  }
}

function childType(
  type: Declared | undefined,
  element: PathElement,
  declared: Declared | undefined,
): Declared | undefined {
  if (element.fieldName !== undefined) return declared ?? type?.map?.element;
  return element.keyNames === undefined ? undefined : type?.list?.element;
}

export function nonEmpty(set: FieldSet): FieldSet | undefined {
  return set.isEmpty ? undefined : set;
}

/** Sorts in place. Most lists are short or already sorted, for which a plain insertion sort is fastest. */
function sortNodes(nodes: SetNode[]): SetNode[] {
  if (nodes.length > 24) return nodes.sort(byElement);
  for (let i = 1; i < nodes.length; i++) {
    const node = nodes[i];
    if (node === undefined) break;
    let j = i - 1;
    for (let before = nodes[j]; before !== undefined && byElement(before, node) > 0; before = nodes[--j])
      nodes[j + 1] = before;
    nodes[j + 1] = node;
  }
  return nodes;
}

/**
 * Returns the first position, starting at `from`, whose element does not sort before that of `node`. The step doubles,
 * so that comparing a small set with a large one costs little more than the size of the small one.
 */
function advance(nodes: readonly SetNode[], from: number, node: SetNode): number {
  const isBefore = (at: number): boolean => {
    const other = nodes[at];
    return other !== undefined && byElement(other, node) < 0;
  };
  if (!isBefore(from)) return from;
  let low = from;
  let stride = 1;
  while (isBefore(low + stride)) {
    low += stride;
    stride *= 2;
  }
  let high = Math.min(low + stride, nodes.length);
  while (low + 1 < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(middle)) low = middle;
    else high = middle;
  }
  return high;
}

function unionNode(a: SetNode, b: SetNode): SetNode {
  if (a === b) return a;
  const member = a.member || b.member;
  const children =
    a.children === undefined ? b.children : b.children === undefined ? a.children : a.children.union(b.children);
  // Equal elements may write their numbers differently; the spelling of the second set wins.
  const element = b.member && !a.element.hasSameText(b.element) ? b.element : a.element;
  return element === a.element && member === a.member && children === a.children ? a : { element, member, children };
}

function intersectNode(a: SetNode, b: SetNode): SetNode | undefined {
  if (a === b) return a;
  const children =
    a.children === undefined || b.children === undefined ? undefined : nonEmpty(a.children.intersection(b.children));
  return reduced(a, a.member && b.member, children);
}

function subtractNode(a: SetNode, b: SetNode, recursive: boolean): SetNode | undefined {
  let children = recursive && b.member ? undefined : a.children;
  if (children !== undefined && b.children !== undefined) {
    children = nonEmpty(recursive ? children.recursiveDifference(b.children) : children.difference(b.children));
  }
  return reduced(a, a.member && !b.member, children);
}

/** Returns the node itself if nothing was removed from it, or undefined if nothing is left. */
function reduced(node: SetNode, member: boolean, children: FieldSet | undefined): SetNode | undefined {
  if (member === node.member && children === node.children) return node;
  return member || children !== undefined ? { element: node.element, member, children } : undefined;
}

function walk(set: FieldSet, path: PathElement[], visit: (path: readonly PathElement[]) => void): void {
  for (const node of set.nodes) {
    if (!node.member) continue;
    path.push(node.element);
    visit(path);
    path.pop();
  }
  for (const node of set.nodes) {
    if (node.children === undefined) continue;
    path.push(node.element);
    walk(node.children, path, visit);
    path.pop();
  }
}
