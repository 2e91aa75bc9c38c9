export interface LruOptions<K, V> {
  /** The maximum number of entries or, with `weigh`, the maximum total weight. The newest entry is kept whatever its weight. */
  readonly capacity: number;
  /** Returns the weight of an entry. The default weight is 1. */
  weigh?(key: K, value: V): number;
  /** Called for an entry that is evicted, but not for one that is replaced or deleted. */
  onEvict?(key: K, value: V): void;
}

/** A bounded map that evicts the least recently used entry. */
export class LruCache<K, V> {
  // In order of use: an entry that is used is reinserted at the end.
  private readonly entries = new Map<K, V>();
  private total = 0;

  constructor(private readonly options: LruOptions<K, V>) {}

  get size(): number {
    return this.entries.size;
  }

  /** The total weight of the entries. */
  get weight(): number {
    return this.total;
  }

  get(key: K): V | undefined {
    const value = this.entries.get(key);
    if (value === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    this.entries.set(key, value);
    this.total += this.weigh(key, value);
    if (this.total <= this.options.capacity) return;
    for (const [oldest, old] of this.entries) {
      if (this.total <= this.options.capacity || oldest === key) return;
      this.delete(oldest);
      this.options.onEvict?.(oldest, old);
    }
  }

  delete(key: K): boolean {
    const value = this.entries.get(key);
    if (value === undefined) return false;
    this.total -= this.weigh(key, value);
    return this.entries.delete(key);
  }

  /** Deletes the entries that match. */
  deleteWhere(matches: (value: V) => boolean): void {
    for (const [key, value] of this.entries) if (matches(value)) this.delete(key);
  }

  /** Removes all entries. `each` is called for every entry first. */
  clear(each?: (key: K, value: V) => void): void {
    for (const [key, value] of this.entries) each?.(key, value);
    this.entries.clear();
    this.total = 0;
  }

  private weigh(key: K, value: V): number {
    return this.options.weigh?.(key, value) ?? 1;
  }
}
