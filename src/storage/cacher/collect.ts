import { compareUtf8 } from '../../apimachinery/meta/meta.js';
import { newBadRequest } from '../../apimachinery/meta/errors.js';
import { Slicer } from '../../scheduling/slicer.js';
import type { Clock } from '../../util/clock.js';
import type { Attributes, CachedObject, CacheListOptions, Failures, Ordering } from './interfaces.js';
import { FailureTally } from './selections.js';

/** The selected objects of a page. */
export interface Collected<T> {
  readonly items: readonly T[];
  /** True if more objects may follow. */
  readonly rest: boolean;
  /** The number of selected objects that follow; undefined if they were not counted. */
  readonly remaining: number | undefined;
}

/** Collects the objects of a page from those that are selected, which it gets in the order of their keys. */
export interface Collector<T> {
  /** Takes the next object, with its key of the order if that is known. Returns true if no others are needed. */
  take(object: T, key?: Uint8Array): boolean;
  /** Counts the next object if its key tells that it is not on the page, so that the object need not be read. */
  skips(key: Uint8Array | undefined): boolean;
  /** `isComplete`: no objects follow those that were looked at. */
  finish(isComplete: boolean): Collected<T>;
}

export function collectorFor<T extends CachedObject>(
  { limit, order, exactCount, from }: CacheListOptions,
  last: T | undefined,
): Collector<T> {
  if (order !== undefined) {
    if (from !== '' && last === undefined) throw newBadRequest('invalid continue token: the list has no such object');
    return new Ordered<T>(limit, order, from === '' ? undefined : last);
  }
  return new FirstByKey<T>(limit, exactCount === true);
}

/** Where the objects of a list come from that the cache does not hold. */
interface Source<T> {
  /** The last object of the page before, of a list in another order than that of the keys. */
  readonly last: T | undefined;
  /** True if other objects follow. */
  readonly more: boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly attributes: (object: T) => Attributes;
}

/** Selects the objects of a page from given ones, which are in the order of their keys. */
export async function selectFrom<T extends CachedObject>(
  objects: Iterable<T>,
  options: CacheListOptions,
  { last, more, clock, attributes }: Source<T>,
): Promise<{ readonly selected: Collected<T>; readonly failures: Failures | undefined }> {
  const { predicate, flow, signal } = options;
  const { selectors, of: condition } = predicate.condition ?? { selectors: predicate, of: undefined };
  const tally = new FailureTally();
  const collector = collectorFor(options, last);
  const slicer = new Slicer(clock, flow);
  const selects = (object: T): boolean => {
    if (condition !== undefined && object.undecodable) return false;
    if (!selectors.everything) {
      const { labels, fields } = attributes(object);
      if (!selectors.matches(labels, fields, object)) return false;
    }
    return condition === undefined || tally.counted(condition.matches(object), object);
  };
  let isFull = false;
  for (const object of objects) {
    // Whether others follow, selected or not, is known from the next one.
    if (isFull) return { selected: collector.finish(false), failures: tally.failures };
    if (selects(object)) isFull = collector.take(object);
    if (!slicer.isExhausted) continue;
    await slicer.yield();
    signal?.throwIfAborted();
  }
  return { selected: collector.finish(!more), failures: tally.failures };
}

class FirstByKey<T> implements Collector<T> {
  private readonly items: T[] = [];
  private beyond = 0;

  constructor(
    private readonly limit: number,
    private readonly counts: boolean,
  ) {}

  take(object: T): boolean {
    const { items, limit } = this;
    if (this.skips()) return false;
    items.push(object);
    return items.length === limit && !this.counts;
  }

  skips(): boolean {
    if (this.limit === 0 || this.items.length < this.limit) return false;
    this.beyond++;
    return true;
  }

  finish(isComplete: boolean): Collected<T> {
    const { items, beyond } = this;
    if (this.counts) return { items, rest: beyond > 0, remaining: beyond };
    return { items, rest: !isComplete, remaining: isComplete ? 0 : undefined };
  }
}

/** The maximum number of bytes of the keys by which the objects of one page are ordered. */
const MAX_KEY_BYTES = 64 << 20;
/** The approximate memory that an entry takes besides its key. */
const ENTRY_BYTES = 100;

interface Entry<T> {
  readonly object: T;
  readonly key: Uint8Array;
}

/** Keeps the first objects of an order after the last one of the page before, in a heap whose top is the last of them. */
class Ordered<T extends CachedObject> implements Collector<T> {
  private readonly heap: Entry<T>[] = [];
  private readonly after: Entry<T> | undefined;
  private bytes = 0;
  /** The number of objects that follow the last page. */
  private count = 0;

  constructor(
    private readonly limit: number,
    private readonly order: Ordering,
    last: T | undefined,
  ) {
    this.after = last && { object: last, key: order.keyOf(last) };
  }

  skips(key: Uint8Array | undefined): boolean {
    const { heap, limit, after } = this;
    if (key === undefined) return false;
    if (after !== undefined && Buffer.compare(key, after.key) < 0) return true;
    const [top] = heap;
    if (limit === 0 || heap.length < limit || top === undefined || Buffer.compare(key, top.key) <= 0) return false;
    this.count++;
    return true;
  }

  take(object: T, known?: Uint8Array): boolean {
    const { heap, limit, after } = this;
    const entry = { object, key: known ?? this.order.keyOf(object) };
    if (after !== undefined && compareEntries(entry, after) <= 0) return false;
    this.count++;
    if (limit === 0) {
      this.charge(entry);
      heap.push(entry);
      return false;
    }
    const [top] = heap;
    if (heap.length === limit && top !== undefined) {
      if (compareEntries(entry, top) > 0) return false;
      this.charge(entry);
      this.bytes -= top.key.length + ENTRY_BYTES;
      heap[0] = entry;
      this.sink();
      return false;
    }
    this.charge(entry);
    heap.push(entry);
    this.rise();
    return false;
  }

  finish(): Collected<T> {
    const items = this.heap.sort(compareEntries).map(({ object }) => object);
    const remaining = this.count - items.length;
    return { items, rest: remaining > 0, remaining };
  }

  private charge({ key }: Entry<T>): void {
    this.bytes += key.length + ENTRY_BYTES;
    if (this.bytes <= MAX_KEY_BYTES) return;
    throw newBadRequest(
      `orderBy: the keys of the objects on one page take more than ${String(MAX_KEY_BYTES >> 20)} MiB; ask for shorter keys, or for fewer objects with limit`,
    );
  }

  private rise(): void {
    const { heap } = this;
    for (let at = heap.length - 1; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!this.isAfter(at, parent)) return;
      this.swap(at, parent);
      at = parent;
    }
  }

  private sink(): void {
    const { heap } = this;
    for (let at = 0; ;) {
      let last = at;
      for (const child of [2 * at + 1, 2 * at + 2]) if (child < heap.length && this.isAfter(child, last)) last = child;
      if (last === at) return;
      this.swap(at, last);
      at = last;
    }
  }

  private isAfter(a: number, b: number): boolean {
    return compareEntries(this.heap[a] as Entry<T>, this.heap[b] as Entry<T>) > 0;
  }

  private swap(a: number, b: number): void {
    const { heap } = this;
    [heap[a], heap[b]] = [heap[b] as Entry<T>, heap[a] as Entry<T>];
  }
}

function compareEntries(a: Entry<CachedObject>, b: Entry<CachedObject>): number {
  return Buffer.compare(a.key, b.key) || compareNames(a.object.key, b.object.key);
}

/** Compares by namespace, then by name. Keys have another order: `n1-x/a` before `n1/a`. */
function compareNames(a: string, b: string): number {
  const [atA, atB] = [a.indexOf('/'), b.indexOf('/')];
  return (
    compareUtf8(a.slice(0, Math.max(0, atA)), b.slice(0, Math.max(0, atB))) ||
    compareUtf8(a.slice(atA + 1), b.slice(atB + 1))
  );
}
