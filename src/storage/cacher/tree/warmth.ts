import { leaveBlocks } from './blocks.js';
import { type ItemLeaf } from './leaf-data.js';
import { PackedItems, type PackingSource } from './packed-items.js';

/** What an item in memory takes beside its bytes: itself, its key, and what selectors see of it. */
const ITEM_BYTES = 600;
/** Leaves that are spared at one time because they were touched. */
const SPARED = 4;
/** Changed items of a packed leaf before all of it is packed again. */
const MAX_LOOSE = 16;

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

  /** A leaf has items in memory: all of them, or those that were changed since it was packed. */
  add(leaf: ItemLeaf, source: PackingSource): void {
    const { held } = leaf;
    // One that is empty takes nothing, and is not told of when its type goes.
    if (source.atHand === undefined || held.length === 0) return;
    if (leaf.packed === undefined) {
      if (leaf.packedForm !== undefined) this.unpacked++;
    } else if (held.length > MAX_LOOSE && source.mayPack() && this.pack(leaf, source)) return;
    let bytes = held.length * ITEM_BYTES;
    for (const item of held) bytes += item.heldBytes;
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
    const { held, packed, packedForm } = leaf;
    // What cannot be had from the file stays as it is; it is not looked at again before the leaf changes.
    const { atHand } = source;
    const keeps = atHand?.keep !== undefined;
    if (held.some((item) => (keeps ? item.undecodable || item.unreadable !== undefined : !item.isAtHand())))
      return true;
    if (keeps && atHand.keep?.(held) !== true) return false;
    source.packed();
    const known = packedForm instanceof PackedItems && (packed !== undefined || packedForm.saysAllOf(held));
    if (packed === undefined) leaveBlocks(leaf);
    leaf.pack(known ? packedForm.packed() : PackedItems.of(held, source));
    this.packed++;
    return true;
  }
}
