import type { Clock } from '../clock.js';
import { LruCache } from './lru-cache.js';

interface Entry<T> {
  readonly value: T;
  readonly expires: number;
}

/** A map whose entries expire. Above `capacity`, the least recently used entry is evicted. */
export class TtlCache<T> {
  private readonly entries: LruCache<string, Entry<T>>;

  constructor(
    capacity: number,
    private readonly clock: Clock,
  ) {
    this.entries = new LruCache({ capacity });
  }

  get(key: string): T | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expires > this.clock.monotonic()) return entry.value;
    this.entries.delete(key);
    return undefined;
  }

  /** Stores a value for `millis` milliseconds. A lifetime of 0 stores nothing. */
  set(key: string, value: T, millis: number): void {
    if (millis <= 0) this.entries.delete(key);
    else this.entries.set(key, { value, expires: this.clock.monotonic() + millis });
  }

  get size(): number {
    return this.entries.size;
  }
}
