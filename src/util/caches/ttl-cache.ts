import { hash } from 'node:crypto';
import type { Clock, Timer } from '../clock.js';
import { watchCache } from './cache-metrics.js';
import { LruCache } from './lru-cache.js';

interface Entry<T> {
  readonly value: T;
  readonly expires: number;
  readonly weight: number;
}

export interface TtlCacheOptions<T> {
  /** The value of the label `cache` of the metrics. */
  readonly name: string;
  readonly clock: Clock;
  /** The maximum number of bytes of all entries. Above it, the least recently used are evicted. */
  readonly maxBytes: number;
  /** The maximum number of bytes of one entry. A larger one is not kept. The default is a 64th of `maxBytes`. */
  readonly maxEntryBytes?: number;
  /** Returns the approximate number of bytes of a value. */
  weigh(value: T): number;
}

/** The bytes of an entry in addition to its key and value. */
const ENTRY_BYTES = 256;
const BYTES_PER_CHARACTER = 2;
/** Expired entries are removed this long after the cache got its first entry, and again while it has any. */
const SWEEP_MILLIS = 30_000;
/** Longer texts are kept by their digest, so that a key of any length takes the same space. */
const MAX_KEY_CHARACTERS = 512;

/** Returns a key for a text that clients choose: the text if it is short, else its digest. Texts must not begin with `#`. */
export const boundedKey = (text: string): string =>
  text.length <= MAX_KEY_CHARACTERS ? text : `#${hash('sha256', text, 'base64url')}`;

/** A map whose entries expire. It is bounded by the bytes that it keeps, because clients choose how large its entries are. */
export class TtlCache<T> {
  private readonly entries: LruCache<string, Entry<T>>;
  private readonly maxEntryBytes: number;
  private timer: Timer | undefined;

  constructor(private readonly options: TtlCacheOptions<T>) {
    const { name, maxBytes } = options;
    this.entries = new LruCache({ capacity: maxBytes, weigh: (_key, { weight }) => weight });
    this.maxEntryBytes = options.maxEntryBytes ?? maxBytes / 64;
    watchCache(name, this);
  }

  get(key: string): T | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expires > this.options.clock.monotonic()) return entry.value;
    this.entries.delete(key);
    return undefined;
  }

  /** Stores a value for `millis` milliseconds. A lifetime of 0 stores nothing. */
  set(key: string, value: T, millis: number): void {
    const { clock } = this.options;
    const weight = ENTRY_BYTES + BYTES_PER_CHARACTER * key.length + this.options.weigh(value);
    if (millis <= 0 || weight > this.maxEntryBytes) {
      this.entries.delete(key);
      return;
    }
    this.entries.set(key, { value, expires: clock.monotonic() + millis, weight });
    this.timer ??= clock.setTimer(SWEEP_MILLIS, this.sweep);
  }

  get size(): number {
    return this.entries.size;
  }

  /** The approximate number of bytes kept. */
  get weight(): number {
    return this.entries.weight;
  }

  private readonly sweep = (): void => {
    const now = this.options.clock.monotonic();
    this.entries.deleteWhere(({ expires }) => expires <= now);
    this.timer = this.entries.size === 0 ? undefined : this.options.clock.setTimer(SWEEP_MILLIS, this.sweep);
  };
}
