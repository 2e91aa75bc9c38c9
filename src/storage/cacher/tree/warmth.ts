import { leaveBlocks } from './blocks.js';
import { type ItemLeaf } from './leaf-data.js';
import { PackedItems, type PackingSource } from './packed-items.js';

/** What an item in memory takes beside its bytes: itself, its key, and what selectors see of it. */
const ITEM_BYTES = 600;
/** Leaves that are spared at one time because they were touched. */
const SPARED = 4;

interface Warm {
  readonly source: PackingSource;
  readonly bytes: number;
}

export interface WarmthStats {
  /** Memory that unpacked items take, about. */
  readonly bytes: number;
  readonly limit: number;
  readonly packed: number;
  readonly unpacked: number;
}

/**
 * The leaves whose items are in memory, of all types whose objects lie in a file at hand. There is one bound for all of them: beyond it
 * those are packed that nobody has used for longest.
 */
export class Warmth {
  private readonly leaves = new Map<ItemLeaf, Warm>();
  private bytes = 0;
  private packed = 0;
  private unpacked = 0;

  constructor(private readonly limit: number) {}

  stats(): WarmthStats {
    const { bytes, limit, packed, unpacked } = this;
    return { bytes, limit, packed, unpacked };
  }

  /** A leaf has its items in memory. */
  add(leaf: ItemLeaf, source: PackingSource): void {
    // One that is empty takes nothing, and is not told of when its type goes.
    if (source.atHand === undefined || leaf.size === 0) return;
    if (leaf.packedBefore !== undefined) this.unpacked++;
    let bytes = leaf.size * ITEM_BYTES;
    for (const item of leaf.items) bytes += item.heldBytes;
    this.leaves.set(leaf, { source, bytes });
    this.bytes += bytes;
    this.cool();
  }

  /** A leaf is no longer part of the newest state. */
  remove(leaf: ItemLeaf): void {
    const warm = this.leaves.get(leaf);
    if (warm === undefined) return;
    this.leaves.delete(leaf);
    this.bytes -= warm.bytes;
  }

  /** Packs what is beyond the bound, but for a few leaves at a time that were used since it last came by. */
  cool(): void {
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

  /** False where the file has no room for it now. */
  private pack(leaf: ItemLeaf, source: PackingSource): boolean {
    const { items, packedBefore } = leaf;
    // What cannot be had from the file stays as it is; it is not looked at again before the leaf changes.
    const apart = items.filter((item) => !item.isAtHand());
    if (apart.length > 0) {
      if (source.atHand?.keep === undefined || apart.some((item) => item.undecodable)) return true;
      if (!source.atHand.keep(apart)) return false;
    }
    source.packed();
    const isSame = packedBefore instanceof PackedItems && packedBefore.saysAllOf(items);
    leaveBlocks(leaf);
    leaf.pack(isSame ? packedBefore : PackedItems.of(items, source));
    this.packed++;
    return true;
  }
}
