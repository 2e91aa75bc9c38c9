import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';

/** Decoded forms of cached objects that are read again and again, the least recently used dropped beyond a number of stored bytes. */
export class DecodedObjects {
  private readonly entries = new Map<CachedObject, KubeObject>();
  private bytes = 0;

  constructor(private readonly maxBytes: number) {}

  get(cached: CachedObject, decode: (cached: CachedObject) => KubeObject): KubeObject {
    const known = this.entries.get(cached);
    if (known !== undefined) {
      // Inserted again: the map's order is that of use.
      this.entries.delete(cached);
      this.entries.set(cached, known);
      return known;
    }
    const object = decode(cached);
    if (cached.bytes.length > this.maxBytes) return object;
    this.entries.set(cached, object);
    this.bytes += cached.bytes.length;
    for (const oldest of this.entries.keys()) {
      if (this.bytes <= this.maxBytes) break;
      this.entries.delete(oldest);
      this.bytes -= oldest.bytes.length;
    }
    return object;
  }
}
