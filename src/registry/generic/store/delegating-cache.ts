import type {
  CachedList,
  CachedObject,
  CacheListOptions,
  CacheWatchOptions,
  ReadAt,
  ResourceCache,
  Watcher,
  WatchReceiver,
} from '../../../storage/cacher/interfaces.js';

/** A cache on top of another one, which answers everything that subclasses do not override. */
export abstract class DelegatingCache implements ResourceCache {
  constructor(protected readonly inner: ResourceCache) {}

  get resource(): string {
    return this.inner.resource;
  }

  get logId(): string | undefined {
    return this.inner.logId;
  }

  abstract get(key: string, at: ReadAt): Promise<CachedObject | undefined>;

  abstract list(at: ReadAt, options: CacheListOptions): Promise<CachedList>;

  watch(options: CacheWatchOptions, receiver: WatchReceiver): Promise<Watcher> {
    return this.inner.watch(options, receiver);
  }

  peek(key: string): CachedObject | undefined {
    return this.inner.peek(key);
  }

  peekAll(prefix: string): Iterable<CachedObject> {
    return this.inner.peekAll(prefix);
  }

  ready(): Promise<void> {
    return this.inner.ready();
  }

  revision(): number {
    return this.inner.revision();
  }

  size(): number {
    return this.inner.size();
  }
}
