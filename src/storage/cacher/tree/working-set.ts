import type { CachedItem } from './cached-item.js';
import type { ItemLeaf } from './leaf-data.js';
import { PackedItems, type PackingSource } from './packed-items.js';

/** The approximate memory that an item takes besides its bytes: itself, its key, and its selector attributes. */
const ITEM_BYTES = 600;
/** The number of leaves spared in one round because they were used. */
const SPARED = 4;
/** The maximum number of changed items of a packed leaf before the whole leaf is packed again. */
const MAX_LOOSE = 16;

interface Warm {
  readonly source: PackingSource;
  readonly bytes: number;
}

export interface WarmthStats {
  /** The approximate memory that unpacked items take, in bytes. */
  readonly bytes: number;
  readonly limit: number;
  readonly packed: number;
  readonly unpacked: number;
}

/**
 * The leaves whose items are in memory, for all types whose objects are in a local file. One limit applies to all of them: beyond it,
 * leaves that were not used recently are packed.
 */
export class WorkingSet {
  private readonly leaves = new Map<ItemLeaf, Warm>();
  private bytes = 0;
  private packed = 0;
  private unpacked = 0;

  constructor(private readonly limit: number) {}

  stats(): WarmthStats {
    const { bytes, limit, packed, unpacked } = this;
    return { bytes, limit, packed, unpacked };
  }

  /** Adds a leaf with items in memory: all of its items, or those that changed since it was packed. */
  add(leaf: ItemLeaf, source: PackingSource): void {
    const { held } = leaf;
    // An empty leaf takes no memory, and would not be removed together with its type.
    if (source.localStates === undefined || held.length === 0) return;
    if (leaf.packed === undefined) {
      if (leaf.packedForm !== undefined) this.unpacked++;
    } else if (held.length > MAX_LOOSE && source.mayPack() && this.pack(leaf, source)) return;
    let bytes = held.length * ITEM_BYTES;
    for (const item of held) bytes += item.heldBytes;
    this.leaves.set(leaf, { source, bytes });
    this.bytes += bytes;
    this.evict();
  }

  /** Removes a leaf that is no longer part of the newest state. */
  remove(leaf: ItemLeaf): void {
    const warm = this.leaves.get(leaf);
    if (warm === undefined) return;
    this.leaves.delete(leaf);
    this.bytes -= warm.bytes;
  }

  /** Packs leaves beyond the limit, but spares a few in each round that were used since the previous one. */
  evict(): void {
    for (let spared = 0; this.bytes > this.limit && spared < SPARED;) {
      const [leaf, warm] = this.leaves.entries().next().value ?? [];
      if (leaf === undefined || warm === undefined) return;
      this.leaves.delete(leaf);
      if (leaf.touched || !warm.source.mayPack()) {
        spared++;
        leaf.touched = false;
        this.leaves.set(leaf, warm);
      } else {
        if (!this.pack(leaf, warm.source)) {
          this.leaves.set(leaf, warm);
          return;
        }
        this.bytes -= warm.bytes;
      }
    }
  }

  /** Returns false if the file has no room for the leaf now. */
  private pack(leaf: ItemLeaf, source: PackingSource): boolean {
    const { held, packed, packedForm } = leaf;
    // A leaf with items that the file cannot return stays in memory, and is not tried again before it changes.
    const copy = source.localStates?.copy;
    const isUnreturnable = (item: CachedItem): boolean =>
      copy === undefined ? !item.isEvictable() : item.undecodable || item.unreadable !== undefined;
    if (held.some(isUnreturnable)) return true;
    if (copy?.keep(held) === false) return false;
    source.onPacked();
    const known = packedForm instanceof PackedItems && (packed !== undefined || packedForm.hasAttributesOf(held));
    // From now on these blocks would take extra memory.
    if (packed === undefined) leaf.data?.bytes.dropShared();
    leaf.pack(known ? packedForm.packed() : PackedItems.of(held, source));
    this.packed++;
    return true;
  }
}
