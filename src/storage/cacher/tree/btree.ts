import { compareUtf8 } from '../../../apimachinery/meta/meta.js';
import { Leaf, LEAF_BULK, LEAF_MIN, type Keyed } from './leaf.js';

const INNER_MAX = 32;
const INNER_MIN = 8;

class Inner<T extends Keyed, Data> {
  readonly size: number;
  readonly first: string;
  constructor(readonly children: readonly Node<T, Data>[]) {
    let size = 0;
    for (const child of children) size += child.size;
    this.size = size;
    this.first = children[0]?.first ?? '';
  }
}

type Node<T extends Keyed, Data> = Leaf<T, Data> | Inner<T, Data>;

/** A run of adjacent items within a leaf: from `start` (inclusive) to `end` (exclusive). */
export interface Segment<T extends Keyed, Data> {
  readonly leaf: Leaf<T, Data>;
  readonly start: number;
  readonly end: number;
}

export interface Change<T extends Keyed, Data> {
  readonly tree: Tree<T, Data>;
  readonly previous: T | undefined;
  /** Leaves that are no longer in the tree, and those that replaced them. */
  readonly removed: readonly Leaf<T, Data>[];
  readonly added: readonly Leaf<T, Data>[];
}

/**
 * A persistent B+tree: a change makes a new tree, which shares all but one path with the old one. So a tree is a snapshot that costs only
 * what has changed since.
 */
export class Tree<T extends Keyed, Data> {
  private constructor(private readonly root: Node<T, Data>) {}

  static empty<T extends Keyed, Data>(): Tree<T, Data> {
    return new Tree<T, Data>(new Leaf<T, Data>([]));
  }

  /** Builds a tree from items in the order of their keys, without duplicates. */
  static from<T extends Keyed, Data>(items: readonly T[]): Tree<T, Data> {
    return Tree.ofLeaves(split(items, LEAF_BULK).map((part) => new Leaf<T, Data>(part)));
  }

  /** Builds a tree from leaves of a good size (LEAF_BULK), in the order of their keys. */
  static ofLeaves<T extends Keyed, Data>(leaves: readonly Leaf<T, Data>[]): Tree<T, Data> {
    let level: readonly Node<T, Data>[] = leaves;
    if (level.length === 0) return Tree.empty<T, Data>();
    while (level.length > 1) level = split(level, INNER_MAX / 2).map((part) => new Inner<T, Data>(part));
    const root = level[0];
    return root === undefined ? Tree.empty<T, Data>() : new Tree<T, Data>(root);
  }

  get size(): number {
    return this.root.size;
  }

  get(key: string): T | undefined {
    let node = this.root;
    while (node instanceof Inner) {
      const child = node.children[childIndex(node.children, key)];
      if (child === undefined) return undefined;
      node = child;
    }
    return node.find(key);
  }

  /** Adds an item, or replaces the one with the same key. */
  set(item: T): Change<T, Data> {
    const edit = new Edit<T, Data>();
    const nodes = edit.set(this.root, item);
    const only = nodes.length === 1 ? nodes[0] : undefined;
    return edit.done(new Tree<T, Data>(only ?? new Inner<T, Data>(nodes)));
  }

  delete(key: string): Change<T, Data> {
    const edit = new Edit<T, Data>();
    let node = edit.delete(this.root, key);
    while (node instanceof Inner && node.children.length <= 1) {
      const child = node.children[0];
      if (child === undefined) break;
      node = child;
    }
    return edit.previous === undefined ? edit.done(this) : edit.done(new Tree<T, Data>(node));
  }

  /** Returns the number of keys before the first one for which `before` is false; it must be true up to some key and false from there on. */
  rank(before: (key: string) => boolean): number {
    let node = this.root;
    let rank = 0;
    while (node instanceof Inner) {
      const { children } = node;
      let index = 0;
      // The answer lies in the last child that starts before it.
      let low = 1;
      let high = children.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        const child = children[middle];
        if (child !== undefined && before(child.first)) low = middle + 1;
        else high = middle;
      }
      for (; index < low - 1; index++) rank += children[index]?.size ?? 0;
      const child = children[index];
      if (child === undefined) return rank;
      node = child;
    }
    let low = 0;
    let high = node.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (before(node.keyAt(middle))) low = middle + 1;
      else high = middle;
    }
    return rank + low;
  }

  at(rank: number): T | undefined {
    for (const { leaf, start } of this.segments(rank, rank + 1)) return leaf.at(start);
    return undefined;
  }

  /** Yields the items of ranks `from` (inclusive) to `to` (exclusive), leaf by leaf. */
  *segments(from: number, to: number): Generator<Segment<T, Data>, void, undefined> {
    if (from < to) yield* segmentsOf(this.root, Math.max(0, from), Math.min(to, this.root.size));
  }

  *[Symbol.iterator](): Generator<T, void, undefined> {
    for (const { leaf } of this.segments(0, this.size)) {
      for (let i = 0; i < leaf.size; i++) {
        const item = leaf.at(i);
        if (item !== undefined) yield item;
      }
    }
  }
}

function* segmentsOf<T extends Keyed, Data>(
  node: Node<T, Data>,
  from: number,
  to: number,
): Generator<Segment<T, Data>, void, undefined> {
  if (node instanceof Leaf) {
    if (from < to) yield { leaf: node, start: from, end: to };
    return;
  }
  let base = 0;
  for (const child of node.children) {
    const end = base + child.size;
    if (end > from && base < to) yield* segmentsOf(child, Math.max(0, from - base), Math.min(child.size, to - base));
    if (end >= to) return;
    base = end;
  }
}

/** A change in progress. */
class Edit<T extends Keyed, Data> {
  previous: T | undefined;
  private readonly removed: Leaf<T, Data>[] = [];
  private readonly added: Leaf<T, Data>[] = [];

  done(tree: Tree<T, Data>): Change<T, Data> {
    return { tree, previous: this.previous, removed: this.removed, added: this.added };
  }

  /** Sets an item; returns one node, or two if it had to be split. */
  set(node: Node<T, Data>, item: T): Node<T, Data>[] {
    if (node instanceof Leaf) return this.setInLeaf(node, item);
    const index = childIndex(node.children, item.key);
    const child = node.children[index];
    if (child === undefined) return [node];
    return inners(node.children.toSpliced(index, 1, ...this.set(child, item)));
  }

  delete(node: Node<T, Data>, key: string): Node<T, Data> {
    if (node instanceof Leaf) return this.deleteInLeaf(node, key);
    const index = childIndex(node.children, key);
    const child = node.children[index];
    if (child === undefined) return node;
    const changed = this.delete(child, key);
    if (this.previous === undefined) return node;
    const children = node.children.toSpliced(index, 1, changed);
    if (isSmall(changed) && children.length > 1) this.mergeAt(children, index);
    return new Inner<T, Data>(children);
  }

  private setInLeaf(leaf: Leaf<T, Data>, item: T): Leaf<T, Data>[] {
    const index = leaf.indexOf(item.key);
    const isThere = leaf.keyAt(index) === item.key;
    if (isThere) this.previous = leaf.at(index);
    return this.replace(leaf, leaf.splice(index, isThere ? 1 : 0, item));
  }

  private deleteInLeaf(leaf: Leaf<T, Data>, key: string): Leaf<T, Data> {
    const index = leaf.indexOf(key);
    if (leaf.keyAt(index) !== key) return leaf;
    this.previous = leaf.at(index);
    return this.replace(leaf, leaf.splice(index, 1))[0] ?? leaf;
  }

  private replace(leaf: Leaf<T, Data>, leaves: Leaf<T, Data>[]): Leaf<T, Data>[] {
    this.removed.push(leaf);
    this.added.push(...leaves);
    return leaves;
  }

  /** Merges a small node with a neighbor; the result is one node, or two of equal size. */
  private mergeAt(children: Node<T, Data>[], index: number): void {
    const at = Math.max(0, index - 1);
    const left = children[at];
    const right = children[at + 1];
    if (left instanceof Leaf && right instanceof Leaf) {
      for (const leaf of [left, right]) {
        const made = this.added.indexOf(leaf);
        if (made >= 0) this.added.splice(made, 1);
        else this.removed.push(leaf);
      }
      const joined = new Leaf<T, Data>([...left.itemsOnce(), ...right.itemsOnce()]).parts();
      this.added.push(...joined);
      children.splice(at, 2, ...joined);
    } else if (left instanceof Inner && right instanceof Inner) {
      children.splice(at, 2, ...inners([...left.children, ...right.children]));
    }
  }
}

function inners<T extends Keyed, Data>(children: readonly Node<T, Data>[]): Inner<T, Data>[] {
  if (children.length <= INNER_MAX) return [new Inner<T, Data>(children)];
  const half = children.length >> 1;
  return [new Inner<T, Data>(children.slice(0, half)), new Inner<T, Data>(children.slice(half))];
}

function isSmall<T extends Keyed, Data>(node: Node<T, Data>): boolean {
  return node instanceof Leaf ? node.size < LEAF_MIN : node.children.length < INNER_MIN;
}

/** Returns the index of the last child that starts at or before the key, else of the first child. */
function childIndex(children: readonly { readonly first: string }[], key: string): number {
  let low = 1;
  let high = children.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareUtf8(children[middle]?.first ?? '', key) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function split<X>(items: readonly X[], size: number): X[][] {
  const parts = Math.ceil(items.length / size);
  const result: X[][] = [];
  for (let i = 0; i < parts; i++) {
    result.push(items.slice(Math.floor((i * items.length) / parts), Math.floor(((i + 1) * items.length) / parts)));
  }
  return result;
}
