import { DerivedSet, type Budget } from '../budget.js';
import type { Leaf } from './leaf.js';
import type { CachedItem } from './cached-item.js';

export type ItemLeaf = Leaf<CachedItem, LeafData>;

/** What is derived from a leaf's items: joined and compressed bytes. */
export class LeafData {
  readonly bytes: DerivedSet;
  /** By representation: where in the joined bytes each item begins, its separator included, and the end. */
  readonly offsets = new Map<string, Uint32Array>();
  /** Compressions under way, so that no block is compressed twice. */
  readonly compressing = new Map<string, Promise<Uint8Array>>();
  /** Leaves that this one replaced, whose joined bytes still hold most of its items. */
  origins: readonly ItemLeaf[] = [];

  constructor(budget: Budget) {
    this.bytes = new DerivedSet(budget);
  }
}

export function leafData(leaf: ItemLeaf, budget: Budget): LeafData {
  return (leaf.data ??= new LeafData(budget));
}
