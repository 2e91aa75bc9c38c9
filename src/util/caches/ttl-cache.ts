import type { Clock } from '../clock.js';
import { LruCache } from './lru-cache.js';

interface Entry<T> {
  readonly value: T;
  readonly expires: number;
}

/** A map whose entries expire; of more than `capacity` the least recently used goes. */
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

  /** A lifetime of 0 keeps nothing. */
  set(key: string, value: T, millis: number): void {
    if (millis <= 0) this.entries.delete(key);
    else this.entries.set(key, { value, expires: this.clock.monotonic() + millis });
  }

  get size(): number {
    return this.entries.size;
  }
}
