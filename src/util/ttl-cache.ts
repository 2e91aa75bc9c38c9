import type { Clock } from './clock.js';

interface Entry<T> {
  readonly value: T;
  readonly expires: number;
}

/** A map whose entries expire; of more than `capacity` the least recently used goes. */
export class TtlCache<T> {
  private readonly entries = new Map<string, Entry<T>>();

  constructor(
    private readonly capacity: number,
    private readonly clock: Clock,
  ) {}

  get(key: string): T | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    this.entries.delete(key);
    if (entry.expires <= this.clock.monotonic()) return undefined;
    // Re-inserted last: the order of the map is that of use.
    this.entries.set(key, entry);
    return entry.value;
  }

  /** A lifetime of 0 keeps nothing. */
  set(key: string, value: T, millis: number): void {
    this.entries.delete(key);
    if (millis <= 0) return;
    this.entries.set(key, { value, expires: this.clock.monotonic() + millis });
    if (this.entries.size <= this.capacity) return;
    const [oldest] = this.entries.keys();
    if (oldest !== undefined) this.entries.delete(oldest);
  }

  get size(): number {
    return this.entries.size;
  }
}
