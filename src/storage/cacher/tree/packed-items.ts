import type { Attributes, CachedType } from '../interfaces.js';
import type { Packed } from './btree.js';
import type { ItemLeaf, LeafData } from './leaf-data.js';
import { attributesOfText, CachedItem, type ItemFacts, type ItemSource, type PackedAttributes } from './cached-item.js';

/** The cache that has leaves of packed items. */
export interface PackingSource extends ItemSource {
  /** Whether nobody makes anew what selectors see. */
  mayPack(): boolean;
  packed(): void;
  /** A leaf has its items again. */
  unpacked(leaf: ItemLeaf): void;
}

/** Of each item: revision (64-bit float), length, end of the key, end of the attributes (32 bits each), flags (8 bits). */
const REVISION = 0;
const LENGTH = 8;
const KEY_END = 12;
const ATTRIBUTES_END = 16;
const FLAGS = 20;
const FIXED = 21;

/**
 * The items of a leaf in one piece of memory outside of the heap, where the garbage collector does not walk: a table of fixed width,
 * the keys, and what selectors see (as JSON, nothing where it was not made yet). The objects' bytes are in the store's file.
 */
export class PackedItems implements Packed<CachedItem, LeafData>, PackedAttributes {
  /** The type as it was described when the items were packed. */
  private readonly describedBy: CachedType;

  private constructor(
    readonly size: number,
    private readonly table: Buffer,
    private readonly source: PackingSource,
    /** Whether some item's type adds to it whenever it is shown. */
    readonly incomplete: boolean,
    /** How many items have attributes. */
    private readonly attributed: number,
  ) {
    this.describedBy = source.type();
  }

  static of(items: readonly CachedItem[], source: PackingSource): PackedItems {
    const attributes = items.map((item) => item.attributesText());
    let size = FIXED * items.length;
    items.forEach(({ key }, i) => (size += Buffer.byteLength(key) + Buffer.byteLength(attributes[i] ?? '')));
    const table = Buffer.allocUnsafeSlow(size);
    let at = FIXED * items.length;
    let row = 0;
    for (const { key, revision, length, flags } of items) {
      table.writeDoubleLE(revision, row + REVISION);
      table.writeUInt32LE(length, row + LENGTH);
      at += table.write(key, at);
      table.writeUInt32LE(at, row + KEY_END);
      table[row + FLAGS] = flags;
      row += FIXED;
    }
    row = 0;
    for (const text of attributes) {
      at += table.write(text, at);
      table.writeUInt32LE(at, row + ATTRIBUTES_END);
      row += FIXED;
    }
    const incomplete = items.some((item) => item.incomplete);
    const attributed = attributes.filter((text) => text !== '').length;
    return new PackedItems(items.length, table, source, incomplete, attributed);
  }

  /** Whether it says as much of the items as they know by now. */
  saysAllOf(items: readonly CachedItem[]): boolean {
    if (this.describedBy !== this.source.type()) return false;
    return this.attributed === this.size || !items.some((item) => item.hasAttributes);
  }

  get first(): string {
    return this.keyAt(0);
  }

  /** Memory that it takes. */
  get bytes(): number {
    return this.table.length;
  }

  keyAt(index: number): string {
    return index >= this.size ? '' : this.table.toString('utf8', this.keyStart(index), this.keyEnd(index));
  }

  at(index: number): CachedItem | undefined {
    return index >= this.size ? undefined : this.item(index, true);
  }

  find(key: string): CachedItem | undefined {
    const wanted = Buffer.from(key);
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      const order = this.table.compare(wanted, 0, wanted.length, this.keyStart(middle), this.keyEnd(middle));
      if (order === 0) return this.item(middle, true);
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return undefined;
  }

  unpack(): readonly CachedItem[] {
    return Array.from({ length: this.size }, (_, i) => this.item(i, false));
  }

  kept(leaf: ItemLeaf): void {
    this.source.unpacked(leaf);
  }

  /** Some of the items' bytes as they are stored, a separator before each; where each begins and the last ends goes to `offsets`. */
  join(start: number, end: number, separator: Uint8Array, offsets?: Uint32Array): Uint8Array {
    let total = 0;
    for (let i = start; i < end; i++) total += separator.length + this.table.readUInt32LE(i * FIXED + LENGTH);
    const joined = Buffer.allocUnsafeSlow(total);
    let at = 0;
    for (let i = start; i < end; i++) {
      if (offsets !== undefined) offsets[i - start] = at;
      joined.set(separator, at);
      at += separator.length;
      const item = this.item(i, false);
      item.copyTo(joined, at);
      at += item.length;
    }
    if (offsets !== undefined) offsets[end - start] = at;
    return joined;
  }

  private item(index: number, keeps: boolean): CachedItem {
    const row = index * FIXED;
    const { table } = this;
    const facts: ItemFacts = {
      key: this.keyAt(index),
      revision: table.readDoubleLE(row + REVISION),
      length: table.readUInt32LE(row + LENGTH),
      flags: table[row + FLAGS] ?? 0,
    };
    return CachedItem.withoutBytes(facts, this.source, keeps, this, index);
  }

  attributesAt(index: number, key: string): Attributes | undefined {
    const text = this.attributesTextAt(index);
    return text === '' ? undefined : attributesOfText(key, text);
  }

  /** Nothing where the type has been described anew since. */
  attributesTextAt(index: number): string {
    if (this.describedBy !== this.source.type()) return '';
    const start = index === 0 ? this.keyEnd(this.size - 1) : this.attributesEnd(index - 1);
    return this.table.toString('utf8', start, this.attributesEnd(index));
  }

  private keyStart(index: number): number {
    return index === 0 ? this.size * FIXED : this.keyEnd(index - 1);
  }

  private keyEnd(index: number): number {
    return this.table.readUInt32LE(index * FIXED + KEY_END);
  }

  private attributesEnd(index: number): number {
    return this.table.readUInt32LE(index * FIXED + ATTRIBUTES_END);
  }
}
