import { compareUtf8 } from '../../../apimachinery/meta/meta.js';

/** An element of the tree. Keys are ordered by their UTF-8 bytes. */
export interface Keyed {
  readonly key: string;
}

const LEAF_MAX = 128;
export const LEAF_MIN = 32;
/** The number of items in a leaf that is built together with many others. */
export const LEAF_BULK = 96;

/** The items of a leaf in a compact form. Immutable. */
export interface Packed<T extends Keyed, Data> {
  readonly size: number;
  /** The items that are in memory, because they changed after the others were packed. */
  readonly loose: readonly T[];
  at(index: number): T | undefined;
  keyAt(index: number): string;
  /** Returns the index of the first item whose key is not before the given one. */
  indexOf(key: string): number;
  unpack(): readonly T[];
  /** Removes some items from `index` on and adds another in their place, without unpacking. */
  splice(index: number, removed: number, added: T | undefined): Packed<T, Data>;
  slice(start: number, end: number): Packed<T, Data>;
  /** Called when a leaf keeps its unpacked items. */
  onRetained(leaf: Leaf<T, Data>): void;
}

/**
 * Some adjacent items. Immutable, but they may be packed, and come back as items that are equal but not identical. `Data` is what users of
 * the tree derive from exactly these items.
 */
export class Leaf<T extends Keyed, Data> {
  /** Data derived from the items; dropped when the leaf is replaced in the newest tree. */
  data: Data | undefined;
  /** True if the leaf is part of the newest tree; maintained by the tree's owner. */
  current = true;
  /** True if all items were requested since the last round of packing. */
  touched = true;
  /** When its bytes were last joined, as the budget's turnover in bytes. */
  joined = -Infinity;
  readonly size: number;
  readonly first: string;

  /** Makes a leaf of items, of a packed form, or of both. */
  constructor(
    private unpacked: readonly T[] | undefined,
    private form?: Packed<T, Data>,
  ) {
    this.size = unpacked?.length ?? form?.size ?? 0;
    this.first = this.keyAt(0);
  }

  /** All items; the leaf keeps them until it is packed again. */
  get items(): readonly T[] {
    this.touched = true;
    if (this.unpacked !== undefined) return this.unpacked;
    const items = this.itemsOnce();
    this.unpacked = items;
    // If there is no room, the leaf is packed again immediately.
    this.form?.onRetained(this);
    return items;
  }

  /** Returns all items without keeping them in the leaf. */
  itemsOnce(): readonly T[] {
    return this.unpacked ?? this.form?.unpack() ?? [];
  }

  /** The items that are in memory. */
  get held(): readonly T[] {
    return this.unpacked ?? this.form?.loose ?? [];
  }

  /** The packed form if the leaf does not also hold the items unpacked. */
  get packed(): Packed<T, Data> | undefined {
    return this.unpacked === undefined ? this.form : undefined;
  }

  /** The packed form, whether or not the leaf also holds the items unpacked. */
  get packedForm(): Packed<T, Data> | undefined {
    return this.form;
  }

  pack(form: Packed<T, Data>): void {
    this.form = form;
    this.unpacked = undefined;
  }

  /** Marks the leaf as part of past states only. It is rarely read from now on, so it keeps its items only if it has no packed form. */
  retire(): void {
    this.current = false;
    if (this.form !== undefined) this.unpacked = undefined;
  }

  /** Returns one item; if the leaf is packed, a new one for the caller. */
  at(index: number): T | undefined {
    return this.unpacked === undefined ? this.form?.at(index) : this.unpacked[index];
  }

  keyAt(index: number): string {
    return (this.unpacked === undefined ? this.form?.keyAt(index) : this.unpacked[index]?.key) ?? '';
  }

  /** Returns the index of the first item whose key is not before the given one. */
  indexOf(key: string): number {
    return this.unpacked === undefined ? (this.form?.indexOf(key) ?? 0) : itemIndex(this.unpacked, key);
  }

  find(key: string): T | undefined {
    const index = this.indexOf(key);
    return this.keyAt(index) === key ? this.at(index) : undefined;
  }

  /** Returns the leaf with some items from `index` on replaced by another: as one leaf, or as two if it would be too large. */
  splice(index: number, removed: number, added?: T): Leaf<T, Data>[] {
    const { unpacked } = this;
    const leaf = new Leaf<T, Data>(
      added === undefined ? unpacked?.toSpliced(index, removed) : unpacked?.toSpliced(index, removed, added),
      this.form?.splice(index, removed, added),
    );
    leaf.joined = this.joined;
    return leaf.parts();
  }

  /** Returns the leaf itself, or two of half its size if it is too large. */
  parts(): Leaf<T, Data>[] {
    if (this.size <= LEAF_MAX) return [this];
    const half = this.size >> 1;
    return [this.slice(0, half), this.slice(half, this.size)];
  }

  private slice(start: number, end: number): Leaf<T, Data> {
    return new Leaf<T, Data>(this.unpacked?.slice(start, end), this.form?.slice(start, end));
  }
}

/** Returns the index of the first item whose key is not before the given one. */
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
