import type { Clock } from '../../../util/clock.js';
import { StorageError } from '../../errors.js';
import type { Backend, LogEvent, Revision, StoredObject, WalkedObject } from '../../interfaces.js';
import { Slicer } from '../../../scheduling/slicer.js';
import type { LeafData, ItemLeaf } from '../tree/leaf-data.js';
import { Tree } from '../tree/btree.js';
import { Leaf, LEAF_BULK } from '../tree/leaf.js';
import { cachedItem, CachedItem, type ItemSource } from '../tree/cached-item.js';
import { PackedItems, type PackingSource } from '../tree/packed-items.js';
import { copyOf } from '../../object-bytes.js';
import { UNCHECKED } from '../../record.js';
import type { ItemTree } from '../tree/page.js';

const MAX_PENDING_BYTES = 64 << 20;
const LOAD_ATTEMPTS = 5;
const RETRY_MILLIS = 500;

/** Errors that soon come again: whoever reads the type next begins another load. */
const FINAL: ReadonlySet<string> = new Set(['closed', 'corrupt']);

export interface LoadOptions {
  readonly resource: string;
  readonly backend: Pick<Backend, 'list'>;
  readonly clock: Clock;
  readonly source: PackingSource;
  /** Bytes of objects that may be held in memory at the end, where they lie in a file at hand, too. */
  readonly warmBytes: number;
  /** Events that may gather; beyond that the load begins anew. */
  readonly maxPending: number;
  /** Everything up to here has been given to the caches of all types. */
  followed(): Revision;
  /**
   * Called once, in the step in which the load was found to be complete: the objects at a revision, and all events of the
   * type that came since the load began, of which those up to the revision are in the objects already.
   */
  install(loaded: Loaded, events: readonly LogEvent[]): void;
}

export interface Loaded {
  readonly tree: ItemTree;
  readonly revision: Revision;
  /** Items in the tree whose bytes cannot be decoded. */
  readonly undecodable: number;
}

/** Events of the type after a revision. */
class Pending {
  readonly events: LogEvent[] = [];
  overflowed = false;
  private bytes = 0;

  constructor(
    readonly after: Revision,
    private readonly maxEvents: number,
  ) {}

  take(event: LogEvent): void {
    this.bytes += event.object.bytes.length;
    if (this.events.length >= this.maxEvents || this.bytes > MAX_PENDING_BYTES) this.overflow();
    if (!this.overflowed) this.events.push(event);
  }

  private overflow(): void {
    this.overflowed = true;
    this.events.length = 0;
  }
}

/**
 * Reads all objects of a type while its events gather. The list and the events are put together only where they meet: the list must be
 * as new as the log was when the events began to gather, and no event may be missing since.
 */
export class TypeLoad {
  private pending: Pending;
  private cancelled = false;

  constructor(private readonly options: LoadOptions) {
    this.pending = new Pending(options.followed(), options.maxPending);
  }

  take(event: LogEvent): void {
    this.pending.take(event);
  }

  /** Nothing is installed from now on. */
  cancel(): void {
    this.cancelled = true;
    this.pending = new Pending(0, 0);
  }

  /** Resolves when the type is installed, or when the load was cancelled. */
  async run(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        if (await this.attempt()) return;
      } catch (error) {
        if (this.cancelled) return;
        if (attempt >= LOAD_ATTEMPTS || (error instanceof StorageError && FINAL.has(error.code))) throw error;
        await new Promise<void>((resolve) => this.options.clock.setTimer(RETRY_MILLIS, resolve));
      }
      if (this.cancelled) return;
      this.pending = new Pending(this.options.followed(), this.options.maxPending);
    }
  }

  /** It may come about while something is awaited. */
  private isCancelled(): boolean {
    return this.cancelled;
  }

  /** False where more events came than could be kept, or the type was described anew. */
  private async attempt(): Promise<boolean> {
    const { pending } = this;
    const type = this.options.source.type();
    const loaded = (await this.walk()) ?? (await this.list());
    if (this.isCancelled()) return true;
    if (loaded.revision < pending.after) {
      const message = `the store listed ${this.options.resource} at revision ${loaded.revision}, but ${pending.after} was seen before`;
      throw new StorageError('unavailable', message);
    }
    // Looked at in the step in which the objects are installed: the type may have been described anew until then.
    if (pending.overflowed || type !== this.options.source.type()) return false;
    this.options.install(loaded, pending.events);
    return true;
  }

  private async list(): Promise<Loaded> {
    const { resource, backend, clock, source } = this.options;
    const list = await backend.list(resource, { prefix: '', from: '', limit: 0, revision: 0 });
    const items = this.isCancelled() ? [] : await cachedItems(list.items, source, clock);
    const undecodable = items.filter((item) => item.undecodable).length;
    return { tree: Tree.from<CachedItem, LeafData>(items), revision: list.revision, undecodable };
  }

  /** From a file at hand: nothing is decoded, and what memory has no room for is not held. */
  private async walk(): Promise<Loaded | undefined> {
    const { source, warmBytes } = this.options;
    const leaves = new LeavesOfWalk(source, warmBytes);
    const revision = await source.atHand?.walk((object) => leaves.add(object));
    return revision === undefined ? undefined : { ...leaves.done(), revision };
  }
}

/** What the text of every object begins with that is not encrypted. */
const BRACE = 0x7b;

/** Puts objects that come in the order of their keys into leaves. */
class LeavesOfWalk {
  private readonly leaves: ItemLeaf[] = [];
  private items: CachedItem[] = [];
  private held = 0;
  /** Items of the present leaf that a file has to take before they are let go of. */
  private apart: CachedItem[] = [];
  /** Whether an item of the present leaf is to stay in memory. */
  private isWarm = false;
  private undecodable = 0;

  constructor(
    private readonly source: PackingSource,
    private readonly warmBytes: number,
  ) {}

  add(object: WalkedObject): void {
    this.items.push(this.item(object));
    if (this.items.length === LEAF_BULK) this.endLeaf();
  }

  done(): Omit<Loaded, 'revision'> {
    if (this.items.length > 0) this.endLeaf();
    return { tree: Tree.ofLeaves(this.leaves), undecodable: this.undecodable };
  }

  private item(object: WalkedObject): CachedItem {
    const { key, revision, flags, keptLength } = object;
    const isFull = this.held > this.warmBytes;
    if (keptLength !== undefined && isFull && (flags & UNCHECKED) === 0)
      return CachedItem.withoutBytes({ key, revision, flags, length: keptLength }, this.source, false);
    const { bytes } = object;
    if (object.unreadable !== undefined || (flags & UNCHECKED) !== 0 || bytes[0] !== BRACE) {
      const item = cachedItem({ ...object, bytes: copyOf(bytes) }, this.source);
      if (item.undecodable) this.undecodable++;
      this.isWarm = true;
      return item;
    }
    if (isFull && this.source.atHand?.keep === undefined)
      return CachedItem.withoutBytes({ key, revision, flags, length: bytes.length }, this.source, false);
    const item = CachedItem.of({ key, revision, flags, bytes: copyOf(bytes) }, undefined, this.source);
    if (isFull) this.apart.push(item);
    else {
      this.held += bytes.length;
      this.isWarm = true;
    }
    return item;
  }

  private endLeaf(): void {
    const { items, apart, source } = this;
    const isCold = !this.isWarm && (apart.length === 0 || source.atHand?.keep?.(apart) === true);
    this.leaves.push(
      isCold
        ? new Leaf<CachedItem, LeafData>(undefined, PackedItems.of(items, source))
        : new Leaf<CachedItem, LeafData>(items),
    );
    this.items = [];
    this.apart = [];
    this.isWarm = false;
  }
}

/** Makes items, in slices. */
export async function cachedItems(
  stored: readonly StoredObject[],
  source: ItemSource,
  clock: Clock,
): Promise<CachedItem[]> {
  const items: CachedItem[] = [];
  const slicer = new Slicer(clock);
  for (const each of stored) {
    items.push(cachedItem(each, source));
    if (slicer.isOver) await slicer.yield();
  }
  return items;
}
