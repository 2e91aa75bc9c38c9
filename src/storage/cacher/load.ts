import type { Clock } from '../../util/clock.js';
import { StorageError } from '../errors.js';
import type { Backend, LogEvent, Revision, StoredObject } from '../interfaces.js';
import { Slicer } from '../../scheduling/slicer.js';
import type { Budget } from './budget.js';
import { cachedItem, type CachedItem } from './tree/cached-item.js';
import type { CachedType } from './interfaces.js';

const MAX_PENDING_BYTES = 64 << 20;
const LOAD_ATTEMPTS = 5;
const RETRY_MILLIS = 500;

/** Errors that soon come again: whoever reads the type next begins another load. */
const FINAL: ReadonlySet<string> = new Set(['closed', 'corrupt']);

export interface LoadOptions {
  readonly resource: string;
  readonly backend: Pick<Backend, 'list'>;
  readonly clock: Clock;
  readonly budget: Budget;
  /** Events that may gather; beyond that the load begins anew. */
  readonly maxPending: number;
  /** The type as it is described now. */
  type(): CachedType;
  /** Everything up to here has been given to the caches of all types. */
  followed(): Revision;
  /**
   * Called once, in the step in which the load was found to be complete: the objects at a revision, and all events of the
   * type that came since the load began, of which those up to the revision are in the objects already.
   */
  install(items: readonly CachedItem[], revision: Revision, events: readonly LogEvent[]): void;
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

  /** False where more events came than could be kept. */
  private async attempt(): Promise<boolean> {
    const { resource, backend, clock, budget } = this.options;
    const { pending } = this;
    const list = await backend.list(resource, { prefix: '', from: '', limit: 0, revision: 0 });
    if (this.isCancelled()) return true;
    if (list.revision < pending.after) {
      const message = `the store listed ${resource} at revision ${list.revision}, but ${pending.after} was seen before`;
      throw new StorageError('unavailable', message);
    }
    let type: CachedType;
    let items: readonly CachedItem[];
    do {
      type = this.options.type();
      items = await cachedItems(list.items, type, budget, clock);
      if (this.isCancelled()) return true;
      // Looked at in the step in which they are installed: the type may have been described anew until then.
    } while (type !== this.options.type());
    if (pending.overflowed) return false;
    this.options.install(items, list.revision, pending.events);
    return true;
  }
}

/** Makes items, in slices. */
export async function cachedItems(
  stored: readonly StoredObject[],
  type: CachedType,
  budget: Budget,
  clock: Clock,
): Promise<CachedItem[]> {
  const items: CachedItem[] = [];
  const slicer = new Slicer(clock);
  for (const each of stored) {
    items.push(cachedItem(each, type, budget));
    if (slicer.isOver) await slicer.yield();
  }
  return items;
}
