import { compareUtf8 } from '../../../apimachinery/meta/meta.js';

/** What the tree holds. Keys are ordered by their UTF-8 bytes. */
export interface Keyed {
  readonly key: string;
}

const LEAF_MAX = 128;
const LEAF_MIN = 32;
/** Items of a leaf that is made with many others. */
export const LEAF_BULK = 96;
const INNER_MAX = 32;
const INNER_MIN = 8;

/** The items of a leaf in a form that takes little memory. */
export interface Packed<T extends Keyed, Data> {
  readonly size: number;
  readonly first: string;
  at(index: number): T | undefined;
  keyAt(index: number): string;
  find(key: string): T | undefined;
  unpack(): readonly T[];
  /** A leaf keeps what was unpacked. */
  kept(leaf: Leaf<T, Data>): void;
}

/**
 * Some neighbouring items. Never changed, but they may be packed, and come back as items that are equal but not the same; `Data` is for
 * what users of the tree derive from exactly these items.
 */
export class Leaf<T extends Keyed, Data> {
  /** Derived from the items; dropped when the leaf is replaced in the newest tree. */
  data: Data | undefined;
  /** Whether it is part of the newest tree; for the tree's owner to keep. */
  current = true;
  /** Whether all its items were wanted since whoever packs leaves last looked. */
  touched = true;
  readonly size: number;
  readonly first: string;
  private unpacked: readonly T[] | undefined;
  private form: Packed<T, Data> | undefined;

  constructor(items: readonly T[] | Packed<T, Data>) {
    if (isItems(items)) {
      this.unpacked = items;
      this.size = items.length;
      this.first = items[0]?.key ?? '';
    } else {
      this.form = items;
      this.size = items.size;
      this.first = items.first;
    }
  }

  /** All items, which the leaf keeps until it is packed again. */
  get items(): readonly T[] {
    this.touched = true;
    if (this.unpacked !== undefined) return this.unpacked;
    const items = this.form?.unpack() ?? [];
    this.unpacked = items;
    // Where there is no room it is packed again at once.
    this.form?.kept(this);
    return items;
  }

  /** The packed form, while the items are in no other one. */
  get packed(): Packed<T, Data> | undefined {
    return this.unpacked === undefined ? this.form : undefined;
  }

  /** The packed form that the leaf had before its items were wanted. */
  get packedBefore(): Packed<T, Data> | undefined {
    return this.form;
  }

  pack(form: Packed<T, Data>): void {
    this.form = form;
    this.unpacked = undefined;
  }

  /** One item; of a packed leaf one that is made for the caller. */
  at(index: number): T | undefined {
    return this.unpacked === undefined ? this.form?.at(index) : this.unpacked[index];
  }

  keyAt(index: number): string {
    return (this.unpacked === undefined ? this.form?.keyAt(index) : this.unpacked[index]?.key) ?? '';
  }

  find(key: string): T | undefined {
    if (this.unpacked === undefined) return this.form?.find(key);
    const item = this.unpacked[itemIndex(this.unpacked, key)];
    return item?.key === key ? item : undefined;
  }
}

function isItems<T extends Keyed, Data>(items: readonly T[] | Packed<T, Data>): items is readonly T[] {
  return Array.isArray(items);
}

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

/** A run of neighbouring items within a leaf: from `start` to before `end`. */
export interface Segment<T extends Keyed, Data> {
  readonly leaf: Leaf<T, Data>;
  readonly start: number;
  readonly end: number;
}

export interface Change<T extends Keyed, Data> {
  readonly tree: Tree<T, Data>;
  readonly previous: T | undefined;
  /** Leaves that are no longer in the tree, and those that took their place. */
  readonly removed: readonly Leaf<T, Data>[];
  readonly added: readonly Leaf<T, Data>[];
}

/**
 * A persistent B+tree: a change makes a new tree, which shares all but one path with the old one. A tree is a
 * snapshot that costs nothing to keep but what has changed since.
 */
export class Tree<T extends Keyed, Data> {
  private constructor(private readonly root: Node<T, Data>) {}

  static empty<T extends Keyed, Data>(): Tree<T, Data> {
    return new Tree<T, Data>(new Leaf<T, Data>([]));
  }

  /** From items in the order of their keys, without duplicates. */
  static from<T extends Keyed, Data>(items: readonly T[]): Tree<T, Data> {
    return Tree.ofLeaves(split(items, LEAF_BULK).map((part) => new Leaf<T, Data>(part)));
  }

  /** From leaves of a good size (LEAF_BULK), in the order of their keys. */
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

  /** With the item in place of the one of the same key, or added. */
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

  /** How many keys stand before the first one that `before` is false for; it must be true up to some key and false from there on. */
  rank(before: (key: string) => boolean): number {
    let node = this.root;
    let rank = 0;
    while (node instanceof Inner) {
      const { children } = node;
      let index = 0;
      // The answer lies in the last child that begins before it.
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

  /** The items of ranks `from` to before `to`, leaf by leaf. */
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

/** One change under way. */
class Edit<T extends Keyed, Data> {
  previous: T | undefined;
  private readonly removed: Leaf<T, Data>[] = [];
  private readonly added: Leaf<T, Data>[] = [];

  done(tree: Tree<T, Data>): Change<T, Data> {
    return { tree, previous: this.previous, removed: this.removed, added: this.added };
  }

  /** One node, or two where it had to be split. */
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
    const index = itemIndex(leaf.items, item.key);
    const found = leaf.items[index];
    this.removed.push(leaf);
    if (found?.key === item.key) {
      this.previous = found;
      return this.leaves(leaf.items.with(index, item));
    }
    return this.leaves(leaf.items.toSpliced(index, 0, item));
  }

  private deleteInLeaf(leaf: Leaf<T, Data>, key: string): Leaf<T, Data> {
    const index = itemIndex(leaf.items, key);
    const found = leaf.items[index];
    if (found?.key !== key) return leaf;
    this.previous = found;
    this.removed.push(leaf);
    return this.leaves(leaf.items.toSpliced(index, 1))[0] ?? leaf;
  }

  /** Joins a small node with a neighbour; the two become one, or two of equal size. */
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
      children.splice(at, 2, ...this.leaves([...left.items, ...right.items]));
    } else if (left instanceof Inner && right instanceof Inner) {
      children.splice(at, 2, ...inners([...left.children, ...right.children]));
    }
  }

  private leaves(items: readonly T[]): Leaf<T, Data>[] {
    const parts =
      items.length <= LEAF_MAX ? [items] : [items.slice(0, items.length >> 1), items.slice(items.length >> 1)];
    const leaves = parts.map((part) => new Leaf<T, Data>(part));
    this.added.push(...leaves);
    return leaves;
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

/** The last child that begins at the key or before it, else the first. */
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

/** The first item whose key is not before the given one. */
function itemIndex(items: readonly Keyed[], key: string): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareUtf8(items[middle]?.key ?? '', key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function split<X>(items: readonly X[], size: number): X[][] {
  const parts = Math.ceil(items.length / size);
  const result: X[][] = [];
  for (let i = 0; i < parts; i++) {
    result.push(items.slice(Math.floor((i * items.length) / parts), Math.floor(((i + 1) * items.length) / parts)));
  }
  return result;
}
