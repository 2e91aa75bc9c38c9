import type {
  CachedList,
  CachedObject,
  CacheListOptions,
  CacheWatchOptions,
  ReadAt,
  ResourceCache,
  Watcher,
  WatchEvent,
  WatchReceiver,
} from '../../storage/cacher/interfaces.js';
import { messageOf } from '../../util/error-message.js';

/** Resolves when all these objects can be shown without waiting. */
export type Prepare = (objects: Iterable<CachedObject>) => Promise<void>;

/** A cache as a version sees it whose conversions must be waited for: what it gives out has been prepared. */
export class ConvertedCache implements ResourceCache {
  constructor(
    private readonly inner: ResourceCache,
    private readonly prepare: Prepare,
  ) {}

  get resource(): string {
    return this.inner.resource;
  }

  async get(key: string, at: ReadAt): Promise<CachedObject | undefined> {
    const object = await this.inner.get(key, at);
    if (object !== undefined) await this.prepare([object]);
    return object;
  }

  async list(at: ReadAt, options: CacheListOptions): Promise<CachedList> {
    const list = await this.inner.list(at, options);
    await this.prepare(list.items());
    return list;
  }

  async watch(options: CacheWatchOptions, receiver: WatchReceiver): Promise<Watcher> {
    const preparing = new PreparingReceiver(receiver, this.prepare);
    return preparing.attach(await this.inner.watch(options, preparing));
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

/** Prepares events before it passes them on; meanwhile the transport counts as full. */
class PreparingReceiver implements WatchReceiver {
  private watcher: Watcher | undefined;
  private stopped = false;
  private resumable = false;
  /** Why the watch ends, once what came before has been passed on. */
  private end: { readonly reason: 'slow' | 'closed' | Error } | undefined;
  private busy = false;
  private readonly waiting: WatchEvent[] = [];

  constructor(
    private readonly receiver: WatchReceiver,
    private readonly prepare: Prepare,
  ) {}

  attach(watcher: Watcher): Watcher {
    this.watcher = watcher;
    if (this.stopped) watcher.stop();
    else if (this.resumable) this.resume();
    return {
      resume: () => {
        this.resume();
      },
      stop: () => {
        this.stop();
      },
    };
  }

  receive(events: readonly WatchEvent[]): boolean {
    this.waiting.push(...events);
    if (!this.busy) void this.pass();
    return false;
  }

  ended(reason: 'slow' | 'closed' | Error): void {
    if (this.busy) this.end = { reason };
    else this.receiver.ended(reason);
  }

  private async pass(): Promise<void> {
    this.busy = true;
    let writable = true;
    while (this.waiting.length > 0 && !this.stopped) {
      const events = this.waiting.splice(0);
      try {
        await this.prepare(events.flatMap(({ object }) => (object === undefined ? [] : [object])));
      } catch (error) {
        this.stop();
        this.receiver.ended(error instanceof Error ? error : new Error(messageOf(error)));
        return;
      }
      if (!this.isStopped()) writable = this.receiver.receive(events);
    }
    this.busy = false;
    if (this.isStopped()) return;
    if (this.end !== undefined) this.receiver.ended(this.end.reason);
    else if (writable) this.resume();
  }

  private isStopped(): boolean {
    return this.stopped;
  }

  private resume(): void {
    if (this.busy || this.stopped) return;
    if (this.watcher === undefined) {
      this.resumable = true;
      return;
    }
    this.watcher.resume();
  }

  private stop(): void {
    this.stopped = true;
    this.waiting.length = 0;
    this.watcher?.stop();
  }
}
