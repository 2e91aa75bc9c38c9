import { compareUtf8 } from '../../../apimachinery/meta/meta.js';

/** What the tree holds. Keys are ordered by their UTF-8 bytes. */
export interface Keyed {
  readonly key: string;
}

const LEAF_MAX = 128;
export const LEAF_MIN = 32;
/** Items of a leaf that is made with many others. */
export const LEAF_BULK = 96;

/** The items of a leaf in a form that takes little memory. Never changed. */
export interface Packed<T extends Keyed, Data> {
  readonly size: number;
  /** Those of its items that are in memory: they were changed since the others were packed. */
  readonly loose: readonly T[];
  at(index: number): T | undefined;
  keyAt(index: number): string;
  /** Where the first item stands whose key is not before the given one. */
  indexOf(key: string): number;
  unpack(): readonly T[];
  /** Without some items from `index` on, and with another in their place; nothing is unpacked. */
  splice(index: number, removed: number, added: T | undefined): Packed<T, Data>;
  slice(start: number, end: number): Packed<T, Data>;
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
  /** When its bytes were last joined, by the budget's count of bytes. */
  joined = -Infinity;
  readonly size: number;
  readonly first: string;

  /** Of items, or packed, or both. */
  constructor(
    private unpacked: readonly T[] | undefined,
    private form?: Packed<T, Data>,
  ) {
    this.size = unpacked?.length ?? form?.size ?? 0;
    this.first = this.keyAt(0);
  }

  /** All items, which the leaf keeps until it is packed again. */
  get items(): readonly T[] {
    this.touched = true;
    if (this.unpacked !== undefined) return this.unpacked;
    const items = this.itemsOnce();
    this.unpacked = items;
    // Where there is no room it is packed again at once.
    this.form?.kept(this);
    return items;
  }

  /** All items, for the caller alone. */
  itemsOnce(): readonly T[] {
    return this.unpacked ?? this.form?.unpack() ?? [];
  }

  /** The items that are in memory. */
  get held(): readonly T[] {
    return this.unpacked ?? this.form?.loose ?? [];
  }

  /** The packed form, while the items are in no other one. */
  get packed(): Packed<T, Data> | undefined {
    return this.unpacked === undefined ? this.form : undefined;
  }

  /** The packed form that the leaf has, whether its items are in memory too or not. */
  get packedForm(): Packed<T, Data> | undefined {
    return this.form;
  }

  pack(form: Packed<T, Data>): void {
    this.form = form;
    this.unpacked = undefined;
  }

  /** It is of the past, and read seldom: it keeps its items only where there is no packed form of them. */
  retire(): void {
    this.current = false;
    if (this.form !== undefined) this.unpacked = undefined;
  }

  /** One item; of a packed leaf one that is made for the caller. */
  at(index: number): T | undefined {
    return this.unpacked === undefined ? this.form?.at(index) : this.unpacked[index];
  }

  keyAt(index: number): string {
    return (this.unpacked === undefined ? this.form?.keyAt(index) : this.unpacked[index]?.key) ?? '';
  }

  /** Where the first item stands whose key is not before the given one. */
  indexOf(key: string): number {
    return this.unpacked === undefined ? (this.form?.indexOf(key) ?? 0) : itemIndex(this.unpacked, key);
  }

  find(key: string): T | undefined {
    const index = this.indexOf(key);
    return this.keyAt(index) === key ? this.at(index) : undefined;
  }

  /** Leaves of the same items without some from `index` on, and with another in their place: one, or two where it would be too large. */
  splice(index: number, removed: number, added?: T): Leaf<T, Data>[] {
    const { unpacked } = this;
    const leaf = new Leaf<T, Data>(
      added === undefined ? unpacked?.toSpliced(index, removed) : unpacked?.toSpliced(index, removed, added),
      this.form?.splice(index, removed, added),
    );
    leaf.joined = this.joined;
    return leaf.parts();
  }

  /** Itself, or two of half its size. */
  parts(): Leaf<T, Data>[] {
    if (this.size <= LEAF_MAX) return [this];
    const half = this.size >> 1;
    return [this.slice(0, half), this.slice(half, this.size)];
  }

  private slice(start: number, end: number): Leaf<T, Data> {
    return new Leaf<T, Data>(this.unpacked?.slice(start, end), this.form?.slice(start, end));
  }
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
