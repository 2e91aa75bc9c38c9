import type {
  Attributes,
  CachedList,
  CachedObject,
  CacheListOptions,
  CacheWatchOptions,
  ObjectPredicate,
  ReadAt,
  ResourceCache,
  Watcher,
  WatchEvent,
  WatchReceiver,
} from '../../../storage/cacher/interfaces.js';
import { type Stopwatch, timed } from '../../../util/metrics/stopwatch.js';
import type { Clock } from '../../../util/clock.js';
import { asError } from '../../../util/error-message.js';
import { DelegatingCache } from '../../generic/store/delegating-cache.js';
import { instrumentCache } from '../../generic/store/instrumented-store.js';
import { ConvertedSelection, selectableAsStored } from './converted-selection.js';

/** Resolves when all these objects can be shown without waiting for conversion. */
export type Prepare = (objects: Iterable<CachedObject>) => Promise<void>;

/** The cache of a version whose conversions have to wait: every object that it returns has been prepared. */
export class ConvertedCache extends DelegatingCache {
  constructor(
    inner: ResourceCache,
    private readonly prepare: Prepare,
    /** Returns the labels and selectable fields of a prepared object in this version. */
    private readonly attributes: (object: CachedObject) => Attributes,
    private readonly clock: Pick<Clock, 'monotonic'>,
  ) {
    super(inner);
  }

  async get(key: string, at: ReadAt): Promise<CachedObject | undefined> {
    const object = await this.inner.get(key, at);
    if (object !== undefined) await this.prepare([object]);
    return object;
  }

  async list(at: ReadAt, options: CacheListOptions): Promise<CachedList> {
    const ordered = options.order !== undefined;
    const selection = this.selection(options.predicate, ordered);
    if (selection === undefined) {
      const list = await this.inner.list(at, options);
      await this.prepare(list.items());
      return list;
    }
    const predicate = selectableAsStored(options.predicate);
    const from = ordered ? '' : options.from;
    const all = await this.inner.list(at, { ...options, from, limit: 0, predicate, order: undefined });
    await this.prepare(all.items());
    return selection.page(all, options, this.clock);
  }

  override async watch(options: CacheWatchOptions, receiver: WatchReceiver): Promise<Watcher> {
    const selection = this.selection(options.predicate);
    const preparing = new PreparingReceiver(receiver, this.prepare, selection);
    const predicate = selection === undefined ? options.predicate : selectableAsStored(options.predicate);
    return preparing.attach(await this.inner.watch({ ...options, predicate }, preparing));
  }

  /** Returns undefined if everything is selected, in the order of the keys, so that the stored form suffices. */
  private selection(predicate: ObjectPredicate, ordered = false): ConvertedSelection | undefined {
    return predicate.everything && !ordered ? undefined : new ConvertedSelection(predicate, this.attributes);
  }

  under(watch: Stopwatch): ResourceCache {
    const prepare: Prepare = (objects) => timed(watch, 'decode-response-object', () => this.prepare(objects));
    return new ConvertedCache(instrumentCache(this.inner, watch), prepare, this.attributes, this.clock);
  }
}

/** Prepares events before it passes them on. Meanwhile the inner watch regards the receiver as full. */
class PreparingReceiver implements WatchReceiver {
  private watcher: Watcher | undefined;
  private stopped = false;
  private resumable = false;
  /** The reason why the watch ends, passed on after the events that came before. */
  private end: { readonly reason: 'slow' | 'closed' | Error } | undefined;
  private busy = false;
  private readonly waiting: WatchEvent[] = [];

  constructor(
    private readonly receiver: WatchReceiver,
    private readonly prepare: Prepare,
    private readonly selection: ConvertedSelection | undefined,
  ) {}

  attach(watcher: Watcher): Watcher {
    this.watcher = watcher;
    if (this.stopped) watcher.stop();
    else if (this.resumable) this.resume();
    return {
      resume: () => this.resume(),
      stop: () => this.stop(),
      delivered: () => (this.busy ? 0 : (watcher.delivered?.() ?? 0)),
    };
  }

  receive(events: readonly WatchEvent[]): boolean {
    this.waiting.push(...events);
    if (!this.busy) void this.deliverPending();
    return false;
  }

  ended(reason: 'slow' | 'closed' | Error): void {
    if (this.busy) this.end = { reason };
    else this.receiver.ended(reason);
  }

  private async deliverPending(): Promise<void> {
    this.busy = true;
    let writable = true;
    while (this.waiting.length > 0 && !this.stopped) {
      const events = this.waiting.splice(0);
      const previous = this.statesBefore(events);
      try {
        await this.prepare(events.flatMap(({ object }) => object ?? []));
        await this.prepare(previous.values());
      } catch (error) {
        this.stop();
        this.receiver.ended(asError(error));
        return;
      }
      if (this.isStopped()) break;
      const selected = this.select(events, previous);
      if (selected.length > 0) writable = this.receiver.receive(selected);
    }
    this.busy = false;
    if (this.isStopped()) return;
    if (this.end !== undefined) this.receiver.ended(this.end.reason);
    else if (writable) this.resume();
  }

  /** Returns the previous state by event, for objects that left the selection or entered it. */
  private statesBefore(events: readonly WatchEvent[]): Map<WatchEvent, CachedObject> {
    const states = new Map<WatchEvent, CachedObject>();
    if (this.selection === undefined) return states;
    for (const event of events) {
      const before = event.type === 'MODIFIED' ? event.previousDeleted?.() : undefined;
      if (before !== undefined) states.set(event, before);
    }
    return states;
  }

  private select(
    events: readonly WatchEvent[],
    previous: ReadonlyMap<WatchEvent, CachedObject>,
  ): readonly WatchEvent[] {
    const { selection } = this;
    if (selection === undefined) return events;
    return events.flatMap((event) => selection.event(event, previous.get(event)) ?? []);
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
