import type { Clock } from '../../../util/clock.js';
import { compacted, StorageError } from '../../errors.js';
import type { LogEvent, Revision } from '../../interfaces.js';
import { asError } from '../../../util/error-message.js';
import { sliced, Slicer, yieldNow } from '../../../scheduling/slicer.js';
import { CachedEvent, Change } from './events.js';
import { initialItems, selectorFor, type WatchedCache } from './initial-items.js';
import type { TypeHistory } from './history.js';
import type { CacheWatchOptions, ReadAtPresent, Watcher, WatchReceiver } from '../interfaces.js';
import type { Shared } from '../shared.js';
import { cachedItem, type ItemSource } from '../tree/cached-item.js';
import { rangeOf, type State } from '../tree/page.js';
import type { Member, Scope } from './group.js';
import { WatchGroups } from './groups.js';

/** The maximum number of changes evaluated for one delivery while catching up. */
const STEP = 200;
const BOOKMARK_MILLIS = 60_000;
const BEFORE_DEADLINE_MILLIS = 2_000;

/** The watchers of a type. Those that have caught up with its history are in groups, which receive the changes. */
export class Watchers {
  private groups: WatchGroups;
  private readonly all = new Set<CacheWatcher>();
  private sendingBookmarks = false;
  /** The slice that all watchers with conditions share which a batch wakes up: those that find it used up wait for a turn. */
  slice: Slicer;

  constructor(
    readonly shared: Shared,
    private readonly items: ItemSource,
    readonly cache: WatchedCache,
  ) {
    this.groups = new WatchGroups(shared.deliveries);
    this.slice = new Slicer(shared.clock);
  }

  get size(): number {
    return this.all.size;
  }

  /** Starts a watch of the history, which is that of the last load. `initialState` returns the state whose objects the watch begins with. */
  start(
    options: CacheWatchOptions,
    receiver: WatchReceiver,
    history: TypeHistory,
    initialState: (at: ReadAtPresent) => State,
  ): CacheWatcher {
    const { backend, maxWatchers } = this.shared;
    if (this.all.size >= maxWatchers) {
      throw new StorageError('unavailable', `${this.items.type().resource} already has ${this.all.size} watchers`);
    }
    const { start } = options;
    const watcherAt = (revision: Revision, position: number, state?: State): CacheWatcher =>
      new CacheWatcher(this, history, this.groups, options, receiver, revision, position, state);
    let watcher: CacheWatcher;
    if (start.mode === 'exact') {
      const { revision } = start;
      if (revision < backend.compactedRevision() && revision < history.since) throw compacted(revision);
      const position = revision < history.since ? -1 : history.positionAfter(revision);
      watcher = watcherAt(revision, position);
    } else {
      watcher = watcherAt(this.cache.revision(), history.end, initialState(start));
    }
    this.all.add(watcher);
    void watcher.run();
    return watcher;
  }

  /** Finds the watchers that a change concerns; they receive it with the next `flush`. */
  collect(change: Change): void {
    this.groups.collect(change);
  }

  flush(): void {
    this.groups.flush();
    this.slice = new Slicer(this.shared.clock);
    for (const watcher of this.all) watcher.afterBatch();
  }

  /** Sends the bookmarks that are due, in slices. */
  sendBookmarks(now: number): void {
    if (this.sendingBookmarks) return;
    const rest = sliced(this.bookmarks(now), this.shared.clock);
    if (!(rest instanceof Promise)) return;
    this.sendingBookmarks = true;
    void rest.then(() => (this.sendingBookmarks = false));
  }

  private *bookmarks(now: number): Generator<undefined, void, undefined> {
    let event: CachedEvent | undefined;
    const make = (): CachedEvent => {
      if (event?.revision !== this.cache.revision())
        event = new CachedEvent('BOOKMARK', this.cache.revision(), undefined);
      return event;
    };
    for (const watcher of this.all) if (watcher.bookmark(now, make)) yield;
  }

  /** Called when the type has been loaded: changes from now on reach only the watchers that start from now on. */
  regroup(): void {
    this.groups = new WatchGroups(this.shared.deliveries);
  }

  /** Ends all watchers. */
  end(): void {
    for (const watcher of [...this.all]) watcher.end('closed');
  }

  /** Called when a watcher has ended, for any reason. */
  remove(watcher: CacheWatcher): void {
    this.all.delete(watcher);
  }

  /** Returns the change that an event of the backend's log makes, or undefined if the event is about another type. */
  loggedChange({ resource, key, revision, type, object, previous: before }: LogEvent): Change | undefined {
    const { items } = this;
    if (resource !== items.type().resource) return undefined;
    const current = type === 'DELETED' ? undefined : cachedItem(object, items);
    const previous = before === undefined ? undefined : cachedItem(before, items);
    return new Change(key, revision, current, previous);
  }
}

/**
 * A watcher has a position in the type's history. While it is at the end, it is a member of a group and receives events as they arrive. If
 * its transport is full, or if it starts in the past, it reads the history at its own pace, and the backend's log if it starts before that
 * history. Therefore no events are queued for it.
 */
class CacheWatcher implements Watcher, Member {
  private readonly clock: Clock;
  private readonly scope: Scope;
  private readonly stopping = new AbortController();
  private stopped = false;
  private live = false;
  private wasLive = false;
  private full = false;
  private wake: (() => void) | undefined;
  private nextBookmark: number;
  /** True while a watcher with a condition waits for changes. */
  private isIdle = false;

  constructor(
    private readonly owner: Watchers,
    /** The history of the last load, and the watchers that have caught up with it. */
    private readonly history: TypeHistory,
    private readonly groups: WatchGroups,
    private readonly options: CacheWatchOptions,
    private readonly receiver: WatchReceiver,
    /** The revision up to which the client knows every change, or will after the initial state. */
    private seen: Revision,
    private position: number,
    private initial: State | undefined,
  ) {
    this.clock = owner.shared.clock;
    this.scope = { prefix: options.prefix, key: options.key, predicate: options.predicate };
    this.nextBookmark = this.bookmarkTime();
  }

  resume(): void {
    this.full = false;
    this.wakeUp();
  }

  stop(): void {
    if (this.stopped) return;
    this.stopped = true;
    this.stopping.abort();
    if (this.live) this.groups.leave(this, this.scope);
    this.live = false;
    this.initial = undefined;
    this.owner.remove(this);
    this.wakeUp();
  }

  delivered(): Revision {
    if (this.live && !this.full) this.groups.deliverTo(this, this.scope);
    const isComplete = this.live || (this.initial === undefined && this.position === this.history.end);
    return isComplete && !this.stopped ? Math.max(this.seen, this.owner.cache.revision()) : 0;
  }

  end(reason: 'slow' | 'closed' | Error): void {
    if (this.stopped) return;
    this.stop();
    this.receiver.ended(reason);
  }

  /** Runs until the watcher is stopped. */
  async run(): Promise<void> {
    try {
      await yieldNow();
      await this.sendInitial();
      while (!this.stopped) {
        if (this.full || this.live) await this.waitForWake();
        else if (this.isCaughtUp) await this.waitForChange();
        // The watch starts in the future, or the log that it has read is ahead of the cache.
        else if (this.seen > this.owner.cache.revision())
          await this.owner.shared.waits.reach(this.seen, this.stopping.signal);
        else if (this.position < this.history.start) await this.readLog();
        else if (this.position < this.history.end) await this.catchUp();
        else this.join();
      }
    } catch (error) {
      this.end(asError(error));
    }
  }

  deliver(events: readonly CachedEvent[]): void {
    try {
      this.send(events);
    } catch (error) {
      this.end(asError(error));
    }
    if (!this.full || this.stopped) return;
    if (this.live) this.groups.leave(this, this.scope);
    this.live = false;
    this.seen = this.owner.cache.revision();
    this.position = this.history.end;
    this.wakeUp();
  }

  /** Called after each batch of events: wakes a watcher that waits for them, and ends one that lags too far behind. */
  afterBatch(): void {
    if (this.isIdle && this.position < this.history.end) this.wakeUp();
    if (!this.full || this.live || this.initial !== undefined) return;
    if (this.history.end - this.position > this.owner.shared.maxBacklog) this.end('slow');
  }

  /** Sends a bookmark if one is due, after everything that it covers. Returns false if none is due. */
  bookmark(now: number, event: () => CachedEvent): boolean {
    if (!this.takesEvents() || !this.options.bookmarks || now < this.nextBookmark) return false;
    this.nextBookmark = this.bookmarkTime();
    this.groups.deliverTo(this, this.scope);
    if (this.takesEvents()) this.deliver([event()]);
    return true;
  }

  private takesEvents(): boolean {
    return (this.live || (this.isIdle && this.isCaughtUp)) && !this.full;
  }

  /**
   * True for a watcher with a condition that has seen all changes. It joins no group: conditions may take long, so that each watcher
   * evaluates its own in slices, in which users take turns. What several watchers of a condition ask about a change is evaluated once.
   */
  private get isCaughtUp(): boolean {
    const { history, position } = this;
    return (
      this.options.predicate.condition !== undefined &&
      this.seen <= this.owner.cache.revision() &&
      position === history.end
    );
  }

  private async waitForChange(): Promise<void> {
    this.wasLive = true;
    this.isIdle = true;
    await this.waitForWake();
    this.isIdle = false;
  }

  private bookmarkTime(): number {
    const regular = this.clock.monotonic() + BOOKMARK_MILLIS;
    const last = this.options.deadline - BEFORE_DEADLINE_MILLIS;
    return last > this.clock.monotonic() ? Math.min(regular, last) : regular;
  }

  private join(): void {
    this.live = true;
    this.wasLive = true;
    this.groups.join(this, this.scope);
  }

  private send(events: readonly CachedEvent[]): void {
    if (this.stopped) return;
    if (this.options.showsUndecodable !== true) {
      for (const event of events) {
        if (event.object?.undecodable === true && event.type !== 'DELETED') event.object.decode();
      }
    }
    if (!this.receiver.receive(events)) this.full = true;
  }

  private async waitForRoom(): Promise<void> {
    while (this.full && !this.stopped) await this.waitForWake();
  }

  private waitForWake(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }

  private wakeUp(): void {
    const wake = this.wake;
    this.wake = undefined;
    wake?.();
  }

  /** Sends the initial state as ADDED events, in slices. */
  private async sendInitial(): Promise<void> {
    if (this.initial === undefined) return;
    const { tree, revision } = this.initial;
    const { key, predicate } = this.options;
    const { from, to } = rangeOf(tree, key ?? this.options.prefix);
    const selector = selectorFor(predicate, this.owner.cache, this.owner.shared.budget);
    let events: CachedEvent[] = [];
    const slicer = new Slicer(this.clock, this.options.flow);
    for (const segment of tree.segments(from, to)) {
      for (const item of initialItems(segment, predicate, selector)) {
        if (item !== undefined && (key === undefined || item.key === key)) events.push(CachedEvent.initial(item));
        if (selector === undefined || !slicer.isExhausted) continue;
        await slicer.yield();
        if (this.stopped) return;
      }
      if (events.length > 0) this.send(events);
      events = [];
      if (this.full) await this.waitForRoom();
      if (slicer.isExhausted) await slicer.yield();
      if (this.stopped) return;
    }
    if (this.options.initialEventsBookmark) this.send([CachedEvent.initialEventsEnd(revision)]);
    this.initial = undefined;
    await this.waitForRoom();
  }

  private isHeldBack(): boolean {
    return this.full || this.stopped;
  }

  private async catchUp(): Promise<void> {
    const { history, clock, owner } = this;
    const { predicate, flow } = this.options;
    const isConditional = predicate.condition !== undefined;
    let slicer = isConditional ? owner.slice : new Slicer(clock);
    while (!this.isHeldBack() && this.position < history.end) {
      if (slicer.isExhausted) {
        slicer = new Slicer(clock, flow);
        await slicer.yield();
        if (this.isHeldBack() || this.position < history.start) return;
      }
      const events: CachedEvent[] = [];
      for (let i = 0; i < STEP && this.position < history.end; i++) {
        const change = history.changeAt(this.position++);
        if (change !== undefined) this.select(change, events);
        if (isConditional && slicer.isExhausted) break;
      }
      if (events.length > 0) this.send(events);
    }
  }

  /** Adds the event that a change causes for this watcher; changes that the client knows already cause none. */
  private select(change: Change, events: CachedEvent[]): void {
    if (change.revision <= this.seen) return;
    this.seen = change.revision;
    const { prefix, key, predicate } = this.options;
    if (key === undefined ? !change.key.startsWith(prefix) : change.key !== key) return;
    const event = change.eventFor(predicate);
    if (event !== undefined) events.push(event);
  }

  /** Reads the backend's log until the history in memory continues from there. */
  private async readLog(): Promise<void> {
    const { history } = this;
    if (this.wasLive) {
      this.end('slow');
      return;
    }
    const reading = new AbortController();
    try {
      if (this.seen < history.since) await this.replay(AbortSignal.any([this.stopping.signal, reading.signal]));
      // The history may have moved on since the replay ended; then more of the log is read.
      if (this.seen >= history.since) this.position = history.positionAfter(this.seen);
    } finally {
      reading.abort();
    }
  }

  private async replay(signal: AbortSignal): Promise<void> {
    const { owner, history } = this;
    let last = this.seen;
    const slicer = new Slicer(this.clock, this.options.flow);
    for await (const batch of owner.shared.backend.events(last, signal)) {
      const events: CachedEvent[] = [];
      for (const event of batch) {
        // The log has no gaps; a gap means that events were lost.
        if (event.revision !== last + 1) throw compacted(last);
        last = event.revision;
        const change = owner.loggedChange(event);
        if (change !== undefined) this.select(change, events);
        if (this.options.predicate.condition !== undefined && slicer.isExhausted) await slicer.yield();
      }
      this.seen = Math.max(this.seen, batch.at(-1)?.revision ?? 0);
      if (events.length > 0) this.send(events);
      await this.waitForRoom();
      if (this.stopped || this.seen >= history.since) return;
    }
  }
}
