import { DerivedSet, type Budget } from '../budget.js';
import type { Leaf } from './leaf.js';
import type { CachedItem } from './cached-item.js';

export type ItemLeaf = Leaf<CachedItem, LeafData>;

/** The bytes derived from a leaf's items: joined and compressed. */
export class LeafData {
  readonly bytes: DerivedSet;
  /** By representation: the offset in the joined bytes at which each item starts, including its separator, and the end of the last one. */
  readonly offsets = new Map<string, Uint32Array>();
  /** Compressions in progress, so that no block is compressed twice. */
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
