import { sleep, type Clock } from '../../util/clock.js';
import { StorageError } from '../errors.js';
import type { LogEvent, Revision, StoredObject, WalkedObject } from '../interfaces.js';
import { Slicer } from '../../scheduling/slicer.js';
import type { LeafData, ItemLeaf } from './tree/leaf-data.js';
import { Tree } from './tree/btree.js';
import { Leaf, LEAF_BULK } from './tree/leaf.js';
import { cachedItem, CachedItem, type ItemSource } from './tree/cached-item.js';
import { PackedItems, type PackingSource } from './tree/packed-items.js';
import { copyOf } from '../../util/bytes.js';
import { UNCHECKED } from '../record.js';
import type { ItemTree } from './tree/page.js';
import type { Shared } from './shared.js';

const MAX_PENDING_BYTES = 64 << 20;
const LOAD_ATTEMPTS = 5;
const RETRY_MILLIS = 500;

/** Errors that retrying does not fix; the next read of the type starts another load. */
const FINAL: ReadonlySet<string> = new Set(['closed', 'corrupt']);

export interface Loaded {
  readonly tree: ItemTree;
  readonly revision: Revision;
  /** The number of items in the tree whose bytes cannot be decoded. */
  readonly undecodable: number;
}

/**
 * The phase of a type's cache (docs/design/watch-cache.md). Reads are answered only in `live`. In the other phases they wait until the
 * phase ends, and check again.
 */
export type Phase =
  /** No state belongs to the current revision, and none is loaded until a read needs it. */
  | { readonly name: 'unloaded' }
  /** Events are buffered during the load. */
  | ({ readonly name: 'loading'; readonly load: TypeLoad } & PhaseEnd)
  /** Events are applied while the selector attributes are recomputed. */
  | ({ readonly name: 'retyping' } & PhaseEnd)
  /** The state holds everything up to `revision()`. */
  | { readonly name: 'live' }
  | { readonly name: 'closed'; readonly error: StorageError };

export const UNLOADED: Phase = { name: 'unloaded' };
export const LIVE: Phase = { name: 'live' };

/** A promise for the end of a phase, and the function that settles it. */
interface PhaseEnd {
  readonly left: Promise<void>;
  readonly leave: (error?: unknown) => void;
}

export function phaseEnd(): PhaseEnd {
  let leave: PhaseEnd['leave'] = () => undefined;
  const left = new Promise<void>((resolve, reject) => {
    leave = (error) => {
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error('the cache failed', { cause: error }));
    };
  });
  // There may be no waiting read.
  left.catch(() => undefined);
  return { left, leave };
}

/** The events of the type after a revision. */
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
 * Reads all objects of a type while its events are buffered. The list and the events are combined only if they meet: the list must be as
 * new as the log was when buffering began, and no event since then may be missing.
 */
export class TypeLoad {
  private pending: Pending;
  private cancelled = false;

  constructor(
    private readonly shared: Shared,
    private readonly source: PackingSource,
    /**
     * Called once, in the same step in which the load was found to be complete: with the objects at a revision, and all events of the type
     * since the load began. The events up to the revision are in the objects already.
     */
    private readonly install: (loaded: Loaded, events: readonly LogEvent[]) => void,
  ) {
    this.pending = this.newPending();
  }

  /** Begins to buffer events: all earlier ones were delivered to the caches of all types. */
  private newPending(): Pending {
    const { waits, maxPending } = this.shared;
    return new Pending(waits.revision, maxPending);
  }

  take(event: LogEvent): void {
    this.pending.take(event);
  }

  /** Cancels the load: nothing is installed from now on. */
  cancel(): void {
    this.cancelled = true;
    this.pending = new Pending(0, 0);
  }

  /** Resolves when the type is installed or the load was canceled. */
  async run(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        if (await this.attempt()) return;
      } catch (error) {
        if (this.cancelled) return;
        if (attempt >= LOAD_ATTEMPTS || (error instanceof StorageError && FINAL.has(error.code))) throw error;
        await sleep(this.shared.clock, RETRY_MILLIS);
      }
      if (this.cancelled) return;
      this.pending = this.newPending();
    }
  }

  /** Returns the current value, which may change during an await. */
  private isCancelled(): boolean {
    return this.cancelled;
  }

  /** Returns false if more events arrived than may be buffered, or the description of the type changed. */
  private async attempt(): Promise<boolean> {
    const { pending } = this;
    const type = this.source.type();
    const loaded = (await this.walk()) ?? (await this.list());
    if (this.isCancelled()) return true;
    if (loaded.revision < pending.after) {
      const message = `the store returned a list of ${type.resource} at revision ${loaded.revision}, but revision ${pending.after} was already seen`;
      throw new StorageError('unavailable', message);
    }
    // Checked in the same step as the install, because the description of the type may change until then.
    if (pending.overflowed || type !== this.source.type()) return false;
    this.install(loaded, pending.events);
    return true;
  }

  private async list(): Promise<Loaded> {
    const { backend, clock } = this.shared;
    const { source } = this;
    const list = await backend.list(source.type().resource, { prefix: '', from: '', limit: 0, revision: 0 });
    const items = this.isCancelled() ? [] : await cachedItems(list.items, source, clock);
    const undecodable = items.filter((item) => item.undecodable).length;
    return { tree: Tree.from<CachedItem, LeafData>(items), revision: list.revision, undecodable };
  }

  /** Loads from a local file: nothing is decoded, and objects that do not fit into memory are not held. */
  private async walk(): Promise<Loaded | undefined> {
    const { shared, source } = this;
    const leaves = new LeafBuilder(source, shared.warmth.stats().limit / 2);
    const revision = await source.localStates?.walk((object) => leaves.add(object));
    return revision === undefined ? undefined : { ...leaves.done(), revision };
  }
}

/** The first byte of the text of every object that is not encrypted. */
const BRACE = 0x7b;

/** Builds leaves from objects that arrive in the order of their keys. */
class LeafBuilder {
  private readonly leaves: ItemLeaf[] = [];
  private items: CachedItem[] = [];
  private held = 0;
  /** Items of the current leaf that the file must store before their bytes can be dropped. */
  private apart: CachedItem[] = [];
  /** True if an item of the current leaf must stay in memory. */
  private isWarm = false;
  private undecodable = 0;

  constructor(
    private readonly source: PackingSource,
    /** The maximum bytes of objects held in memory at the end of the load, if a local file has them, too. */
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
      return CachedItem.withoutBytes({ key, revision, flags, length: keptLength }, this.source, 'dropped');
    const { bytes } = object;
    if (object.unreadable !== undefined || (flags & UNCHECKED) !== 0 || bytes[0] !== BRACE) {
      const item = cachedItem({ ...object, bytes: copyOf(bytes) }, this.source);
      if (item.undecodable) this.undecodable++;
      this.isWarm = true;
      return item;
    }
    if (isFull && this.source.localStates?.copy === undefined)
      return CachedItem.withoutBytes({ key, revision, flags, length: bytes.length }, this.source, 'dropped');
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
    const isCold = !this.isWarm && (apart.length === 0 || source.localStates?.copy?.keep(apart) === true);
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

/** Makes cached items, in slices. */
export async function cachedItems(
  stored: readonly StoredObject[],
  source: ItemSource,
  clock: Clock,
): Promise<CachedItem[]> {
  const items: CachedItem[] = [];
  const slicer = new Slicer(clock);
  for (const each of stored) {
    items.push(cachedItem(each, source));
    if (slicer.isExhausted) await slicer.yield();
  }
  return items;
}
