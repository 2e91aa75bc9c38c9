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
 * The decoded forms of cached objects of one type that are read repeatedly. Beyond a number of stored bytes, the least recently
 * used are evicted. They are identified by key and revision, because a cache that packs its objects returns a new one for each
 * read.
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
