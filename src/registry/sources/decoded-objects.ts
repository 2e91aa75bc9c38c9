import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { Revision } from '../../storage/interfaces.js';
import { LruCache } from '../../util/caches/lru-cache.js';

interface Entry {
  readonly revision: Revision;
  readonly object: KubeObject;
  readonly bytes: number;
}

/**
 * Decoded forms of cached objects of one type that are read again and again, the least recently used dropped beyond a number of stored
 * bytes. They are known by key and revision: a cache that packs its objects makes a new one whenever it is asked.
 */
export class DecodedObjects {
  private readonly entries: LruCache<string, Entry>;

  constructor(maxBytes: number) {
    this.entries = new LruCache({ capacity: maxBytes, weigh: (_key, { bytes }) => bytes });
  }

  get(cached: CachedObject, decode: () => KubeObject): KubeObject {
    const { key, revision } = cached;
    const known = this.entries.get(key);
    if (known?.revision === revision) return known.object;
    const object = decode();
    this.entries.set(key, { revision, object, bytes: cached.bytes.length });
    return object;
  }
}
