import { describeUndecodable } from '../undecodable.js';
import type { Revision } from '../interfaces.js';
import { Slicer } from '../../scheduling/slicer.js';
import type { CachedType } from './interfaces.js';
import type { Loaded } from './load.js';
import type { Shared } from './shared.js';
import { dropLeaf, replaceLeaves } from './tree/blocks.js';
import { Tree } from './tree/btree.js';
import type { BlockBuffer, CachedItem } from './tree/cached-item.js';
import type { ItemLeaf, LeafData } from './tree/leaf-data.js';
import type { PackingSource } from './tree/packed-items.js';
import type { ItemTree, State } from './tree/page.js';
import type { TypeHistory } from './watch/history.js';

/** The newest state of a type's objects: the tree and the data that belongs to it. */
export class Objects {
  readonly source: PackingSource;
  private tree: ItemTree = Tree.empty<CachedItem, LeafData>();
  /** The same objects by key, while all of them are in memory: a lookup costs the same for any number of objects. */
  private index: Map<string, CachedItem> | undefined = new Map<string, CachedItem>();
  private undecodableItems = 0;

  constructor(
    private readonly shared: Shared,
    /** Returns the current description of the type. */
    type: () => CachedType,
    /** Reports whether leaves may be packed: not while the selector attributes are being recomputed. */
    mayPack: () => boolean,
    /** Called if the local file no longer has the states that were stored in it. */
    onLost: () => void,
  ) {
    const { backend, budget, warmth } = shared;
    const { resource } = type();
    const source: PackingSource = {
      budget,
      get localStates() {
        return backend.localStates?.of(resource);
      },
      type,
      mayPack,
      onLost,
      onPacked: () => (this.index = undefined),
      onUnpacked: (leaf) => warmth.add(leaf, source),
    };
    this.source = source;
  }

  get size(): number {
    return this.tree.size;
  }

  /** Returns the number of objects that are in memory, not packed. */
  inMemory(): number {
    let objects = 0;
    for (const { leaf } of this.tree.segments(0, this.tree.size)) objects += leaf.held.length;
    return objects;
  }

  get undecodable(): number {
    return this.undecodableItems;
  }

  get(key: string): CachedItem | undefined {
    return this.index === undefined ? this.tree.get(key) : this.index.get(key);
  }

  state(revision: Revision): State {
    return { tree: this.tree, revision, undecodable: this.undecodableItems };
  }

  /** Replaces all objects. */
  install({ tree, undecodable }: Omit<Loaded, 'revision'>): void {
    const { warmth } = this.shared;
    for (const { leaf } of this.tree.segments(0, this.tree.size)) {
      warmth.remove(leaf);
      dropLeaf(leaf);
    }
    this.tree = tree;
    this.undecodableItems = undecodable;
    this.index = undefined;
    let isPacked = false;
    let unread: CachedItem | undefined;
    for (const { leaf } of tree.segments(0, tree.size)) {
      if (leaf.packed === undefined) {
        warmth.add(leaf, this.source);
        if (undecodable > 0) unread ??= leaf.items.find((item) => item.undecodable);
      } else isPacked = true;
    }
    if (unread !== undefined) this.report(undecodable, unread);
    if (isPacked) return;
    this.index = new Map<string, CachedItem>();
    for (const item of tree) this.index.set(item.key, item);
  }

  clear(): void {
    this.install({ tree: Tree.empty<CachedItem, LeafData>(), undecodable: 0 });
  }

  /** Adds, replaces or removes (if `current` is undefined) the object of a key. Returns undefined if there was nothing to remove. */
  change(key: string, current: CachedItem | undefined): { readonly previous: CachedItem | undefined } | undefined {
    const edit = current === undefined ? this.tree.delete(key) : this.tree.set(current);
    const { previous, removed, added } = edit;
    if (current === undefined && previous === undefined) return undefined;
    this.tree = edit.tree;
    this.undecodableItems += (current?.undecodable === true ? 1 : 0) - (previous?.undecodable === true ? 1 : 0);
    if (current?.undecodable === true) this.report(1, current);
    const { budget, warmth } = this.shared;
    replaceLeaves(removed, added, budget);
    for (const leaf of removed) warmth.remove(leaf);
    for (const leaf of added) warmth.add(leaf, this.source);
    if (current === undefined) this.index?.delete(key);
    else this.index?.set(key, current);
    if (previous !== undefined) supersede(previous, added);
    this.source.localStates?.copy?.changed(key);
    return { previous };
  }

  /** Lets the type's local file, if it has one, save the changes up to a revision. */
  save(revision: Revision, isCurrent: () => boolean): void {
    this.source.localStates?.copy?.save({
      revision,
      isCurrent,
      inMemory: () => keysInMemory(this.tree),
      stateOf: (key) => this.get(key),
    });
  }

  private report(objects: number, one: CachedItem): void {
    this.shared.undecodable?.(this.source.type().resource, objects, describeUndecodable(one));
  }
}

function* keysInMemory(tree: ItemTree): Generator<string> {
  for (const { leaf } of tree.segments(0, tree.size)) for (const { key } of leaf.held) yield key;
}

/** Detaches an object that was replaced: it gets its own copy of its bytes, and its derived bytes are dropped. */
function supersede(item: CachedItem, leaves: readonly ItemLeaf[]): void {
  item.dropDerived();
  const home = item.leaveBlock();
  if (home !== undefined && home.live * 2 < home.bytes.length) vacate(home, leaves);
}

/** Moves the remaining items out of a block that is mostly unused. */
function vacate(home: BlockBuffer, leaves: readonly ItemLeaf[]): void {
  for (const leaf of leaves) {
    for (const item of leaf.held) if (item.isInBlock(home)) item.leaveBlock();
  }
}

/** Yields the items in memory of a state and of its history. Packed items are left out: their packed attributes expire when the type changes. */
export function* itemsOf(tree: ItemTree, history: TypeHistory): Generator<CachedItem, void, undefined> {
  for (const { leaf } of tree.segments(0, tree.size)) yield* leaf.held;
  for (let at = history.start; at < history.end; at++) {
    const change = history.changeAt(at);
    if (change?.current !== undefined) yield change.current;
    if (change?.previous !== undefined) yield change.previous;
  }
}

/** Recomputes the selector attributes of items, in slices, while that is still wanted. */
export async function reattribute(
  items: Iterable<CachedItem>,
  type: CachedType,
  { clock }: Shared,
  isWanted: () => boolean,
): Promise<void> {
  const slicer = new Slicer(clock);
  for (const item of items) {
    item.reattribute(type);
    if (!slicer.isExhausted) continue;
    await slicer.yield();
    if (!isWanted()) return;
  }
}
