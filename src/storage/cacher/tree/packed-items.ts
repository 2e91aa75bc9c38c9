import { compareUtf8 } from '../../../apimachinery/meta/meta.js';
import { isShownAsStored } from '../../record.js';
import type { Representation } from '../interfaces.js';
import { CachedItem, type ItemSource } from './cached-item.js';
import type { ItemLeaf, LeafData } from './leaf-data.js';
import type { Packed } from './leaf.js';
import { PackedRow, PackedTable } from './packed-table.js';

/** The cache that owns leaves of packed items. */
export interface PackingSource extends ItemSource {
  /** Reports whether leaves may be packed: not while the selector attributes are being recomputed. */
  mayPack(): boolean;
  onPacked(): void;
  /** Called when a leaf has unpacked its items. */
  onUnpacked(leaf: ItemLeaf): void;
}

/**
 * The items of a leaf as rows of a table; the objects' bytes are in the local file. Items that change afterwards are loose: the leaves that
 * a change makes share the table, and hold the changed items in memory until a new table is made.
 */
export class PackedItems implements Packed<CachedItem, LeafData> {
  readonly loose: readonly CachedItem[];
  /** By position: a row of the table, or ~n for the n-th loose item. Absent if all rows are used, in order. */
  private readonly order: readonly number[] | undefined;

  private constructor(
    private readonly table: PackedTable,
    private readonly source: PackingSource,
    order?: readonly number[],
    loose: readonly CachedItem[] = [],
  ) {
    const kept: CachedItem[] = [];
    this.order = order?.map((row) => {
      const item = row < 0 ? loose[~row] : undefined;
      return item === undefined ? row : ~(kept.push(item) - 1);
    });
    this.loose = kept;
  }

  static of(items: readonly CachedItem[], source: PackingSource): PackedItems {
    return new PackedItems(PackedTable.of(items, source), source);
  }

  /** Returns the same items in a new table, without loose items. */
  packed(): PackedItems {
    const { order, table, source } = this;
    if (order === undefined) return this;
    const rows = order.map((row) => this.looseAt(row) ?? new PackedRow(table, row));
    return new PackedItems(PackedTable.of(rows, source), source);
  }

  /** Reports whether the table has all attributes that the items have by now. */
  hasAttributesOf(items: readonly CachedItem[]): boolean {
    const { table } = this;
    if (!table.isCurrent) return false;
    return items.every((item, i) => {
      const row = this.rowAt(i);
      return row < 0 || !item.hasAttributes || table.hasAttributes(row);
    });
  }

  get size(): number {
    return this.order?.length ?? this.table.rows;
  }

  /** Reports whether the stored bytes of all items are their representation. */
  areShownAsStored(representation: Representation): boolean {
    if (representation.identityUpTo === undefined) return false;
    for (let i = 0; i < this.size; i++) {
      const row = this.rowAt(i);
      if (!isShownAsStored(this.looseAt(row) ?? this.table.stateAt(row), representation)) return false;
    }
    return true;
  }

  keyAt(index: number): string {
    if (index >= this.size) return '';
    const row = this.rowAt(index);
    return this.looseAt(row)?.key ?? this.table.keyAt(row);
  }

  at(index: number): CachedItem | undefined {
    return index >= this.size ? undefined : this.item(index, 'kept');
  }

  indexOf(key: string): number {
    const wanted = Buffer.from(key);
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      const row = this.rowAt(middle);
      const item = this.looseAt(row);
      const order = item === undefined ? this.table.compareKey(row, wanted) : compareUtf8(item.key, key);
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  unpack(): readonly CachedItem[] {
    return Array.from({ length: this.size }, (_, i) => this.item(i, 'dropped'));
  }

  splice(index: number, removed: number, added: CachedItem | undefined): PackedItems {
    const { table, source, loose } = this;
    return added === undefined
      ? new PackedItems(table, source, this.rows().toSpliced(index, removed), loose)
      : new PackedItems(table, source, this.rows().toSpliced(index, removed, ~loose.length), [...loose, added]);
  }

  slice(start: number, end: number): PackedItems {
    return new PackedItems(this.table, this.source, this.rows().slice(start, end), this.loose);
  }

  onRetained(leaf: ItemLeaf): void {
    this.source.onUnpacked(leaf);
  }

  /** Joins the stored bytes of some items, with a separator before each. `offsets` receives the start of each item and the end of the last. */
  join(start: number, end: number, separator: Uint8Array, offsets?: Uint32Array): Uint8Array {
    let total = 0;
    for (let i = start; i < end; i++) {
      const row = this.rowAt(i);
      total += separator.length + (this.looseAt(row)?.length ?? this.table.lengthAt(row));
    }
    const joined = Buffer.allocUnsafeSlow(total);
    let at = 0;
    for (let i = start; i < end; i++) {
      if (offsets !== undefined) offsets[i - start] = at;
      joined.set(separator, at);
      at += separator.length;
      const item = this.item(i, 'dropped');
      item.copyTo(joined, at);
      at += item.length;
    }
    if (offsets !== undefined) offsets[end - start] = at;
    return joined;
  }

  private item(index: number, bytesRead: 'kept' | 'dropped'): CachedItem {
    const row = this.rowAt(index);
    const { table, source } = this;
    return this.looseAt(row) ?? CachedItem.withoutBytes(table.facts(row), source, bytesRead, table, row);
  }

  private rows(): readonly number[] {
    return this.order ?? Array.from({ length: this.table.rows }, (_, row) => row);
  }

  private rowAt(index: number): number {
    return this.order === undefined ? index : (this.order[index] ?? 0);
  }

  private looseAt(row: number): CachedItem | undefined {
    return row < 0 ? this.loose[~row] : undefined;
  }
}
