import { StorageError, tooLarge } from '../errors.js';
import type { KnownRevision, LogEvent, Revision } from '../interfaces.js';
import { EVERYTHING } from '../selection-predicate.js';
import { BackendReads } from './backend-reads.js';
import { cachedItem } from './tree/cached-item.js';
import { itemsOf, loggedChange } from './changes.js';
import { CachedEvent, Change } from './watch/events.js';
import { TypeHistory } from './watch/history.js';
import type {
  CachedList,
  CachedObject,
  CachedType,
  CacheListOptions,
  CacheWatchOptions,
  ReadAt,
  ResourceCache,
  Watcher,
  WatchReceiver,
} from './interfaces.js';
import { TypeLoad, type Loaded } from './load/load.js';
import { Objects, reattribute } from './objects.js';
import { deferred, LIVE, UNLOADED, type Phase } from './load/phase.js';
import type { Shared } from './shared.js';
import { makePage, rangeOf, tooOld, type State } from './tree/page.js';
import { WatchGroups } from './watch/groups.js';
import { CacheWatcher, type WatchSource } from './watch/watcher.js';

/** After this time the revision shown in lists advances, well within the history that watches may start from. */
const SHOWN_MILLIS = 60_000;

/** All objects of one type: the newest state, some past ones, and the watchers. */
export class WatchCache implements ResourceCache {
  readonly resource: string;
  private type: CachedType;
  private readonly objects: Objects;
  private readonly stored: BackendReads;
  private history: TypeHistory;
  private groups = new WatchGroups();
  private readonly watchers = new Set<CacheWatcher>();
  private readonly listeners = new Set<() => void>();
  /** The number of times that `retype` has replaced the type. */
  private retyped = 0;
  private phase: Phase = UNLOADED;
  /** The start of the last load or retyping, in monotonic milliseconds. */
  private begun = 0;
  /** The revision of the loaded state, which may be ahead of the event stream. */
  private loadedAt: Revision = 0;
  /**
   * The revision shown in lists that accept any state. As in kube-apiserver it is that of the type's own last change, or of the last read
   * that had to be newer, not that of the whole log. It advances by itself, so that a watch may start there.
   */
  private shown: { readonly revision: Revision; readonly since: number } = { revision: 0, since: 0 };

  constructor(
    type: CachedType,
    private readonly shared: Shared,
  ) {
    this.type = type;
    this.resource = type.resource;
    this.history = new TypeHistory(0);
    this.objects = new Objects(
      shared,
      () => this.type,
      () => this.phase.name === 'live',
      () => {
        if (this.phase.name !== 'live') return;
        this.endWatchers();
        this.load();
      },
    );
    this.stored = new BackendReads(shared, this.objects.source, () => {
      if (this.phase.name === 'closed') throw this.phase.error;
      if (this.phase.name === 'unloaded') this.load();
    });
    this.load();
  }

  get logId(): string | undefined {
    return this.shared.logId;
  }

  revision(): Revision {
    const { revision } = this.shared.waits;
    return this.holdsState() ? Math.max(revision, this.loadedAt) : revision;
  }

  /** The known revision of an object, or undefined while the type is not loaded. */
  knows(key: string): KnownRevision | undefined {
    if (this.phase.name !== 'live') return undefined;
    return { revision: this.objects.get(key)?.revision ?? 0, asOf: this.shared.waits.revision };
  }

  size(): number {
    return this.objects.size;
  }

  inMemory(): number {
    return this.objects.inMemory();
  }

  watcherCount(): number {
    return this.watchers.size;
  }

  undecodableCount(): number {
    return this.objects.undecodable;
  }

  peek(key: string): CachedObject | undefined {
    return this.objects.get(key);
  }

  async ready(): Promise<void> {
    while (this.phase.name !== 'live') await this.waitForPhaseEnd();
  }

  *peekAll(prefix: string): Generator<CachedObject, void, undefined> {
    const { tree } = this.state();
    const { from, to } = rangeOf(tree, prefix);
    for (const { leaf, start, end } of tree.segments(from, to)) {
      for (let i = start; i < end; i++) {
        const item = leaf.at(i);
        if (item !== undefined) yield item;
      }
    }
  }

  get(key: string, at: ReadAt): Promise<CachedObject | undefined> {
    if (at.mode === 'exact')
      return this.list(at, { prefix: key, from: key, limit: 1, predicate: EVERYTHING }).then((list) => only(list, key));
    if (this.isFresh(at)) return Promise.resolve(this.objects.get(key));
    return this.whenFresh(
      at,
      () => this.objects.get(key),
      () => this.stored.get(key, at),
    );
  }

  getNow(key: string, at: ReadAt): CachedObject | undefined {
    return at.mode !== 'exact' && this.isFresh(at) ? this.objects.get(key) : undefined;
  }

  list(at: ReadAt, options: CacheListOptions): Promise<CachedList> {
    if (isForBackend(at, options)) return this.listLoaded(at, options, () => this.stored.list(at, options));
    const isShort = options.prefix !== '' && this.objects.source.atHand !== undefined;
    const fromFile = async (): Promise<CachedList> =>
      (await this.stored.shortList(at, options)) ?? this.listLoaded(at, options);
    return this.listLoaded(at, options, isShort ? fromFile : undefined);
  }

  private async listLoaded(
    at: ReadAt,
    options: CacheListOptions,
    fromBackend?: () => Promise<CachedList>,
  ): Promise<CachedList> {
    for (;;) {
      const taken = await this.whenFresh<ListSnapshot | CachedList>(at, () => this.takeStates(at), fromBackend);
      if (!('retyped' in taken)) return taken;
      const list = await this.pageOf(taken, options);
      // The selector attributes may have changed while the page was made.
      if (options.predicate.everything || taken.retyped === this.retyped) return list;
    }
  }

  watch(options: CacheWatchOptions, receiver: WatchReceiver): Promise<Watcher> {
    const { start } = options;
    return this.whenFresh(start.mode === 'exact' ? { mode: 'any' } : start, () => this.startWatch(options, receiver));
  }

  /** Takes a committed event of this type. */
  take(event: LogEvent): void {
    if (this.holdsState()) this.apply(event);
    else if (this.phase.name === 'loading') this.phase.load.take(event);
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Calls the change listeners and delivers the buffered events to the watchers. */
  flush(): void {
    if (this.holdsState()) for (const listener of this.listeners) listener();
    this.groups.flush();
    for (const watcher of this.watchers) watcher.checkBacklog();
    this.shared.warmth.evict();
  }

  sendBookmarks(now: number): void {
    let event: CachedEvent | undefined;
    const make = (): CachedEvent => (event ??= new CachedEvent('BOOKMARK', this.revision(), undefined));
    for (const watcher of this.watchers) watcher.bookmark(now, make);
    if (now - this.shown.since >= SHOWN_MILLIS) this.setShown(this.revision());
  }

  /** Called once a second. */
  save(): void {
    if (this.phase.name === 'live') this.objects.save(this.revision(), () => this.holdsState());
  }

  /** Replaces the description of the type. The selector attributes are recomputed in slices; reads wait for it. */
  retype(type: CachedType): void {
    if (type.attributes === this.type.attributes) return;
    this.type = type;
    this.retyped++;
    if (this.holdsState()) this.remake(type);
  }

  /**
   * Drops the state, which does not belong to the revision that is about to be shown: it must not be read from now on. Must be followed by
   * `load`, after the revision has moved.
   */
  unload(): void {
    this.enter(UNLOADED);
  }

  /** Loads the type from the store again. */
  load(): void {
    if (this.phase.name === 'closed') return;
    const { resource, shared } = this;
    const { backend, clock, warmth, waits, maxPending } = shared;
    const load = new TypeLoad({
      resource,
      backend,
      clock,
      source: this.objects.source,
      warmBytes: warmth.stats().limit / 2,
      maxPending,
      followed: () => waits.revision,
      install: (loaded, events) => {
        this.install(loaded, events);
      },
    });
    const { left, leave } = deferred();
    const phase: Phase = { name: 'loading', load, left, leave };
    this.begun = clock.monotonic();
    this.enter(phase);
    load.run().catch((error: unknown) => {
      if (this.phase === phase) this.enter(UNLOADED, error);
    });
  }

  /** Ends the watchers of a dropped state; their clients list again. */
  endWatchers(): void {
    for (const watcher of [...this.watchers]) watcher.end('closed');
  }

  close(error: StorageError): void {
    this.enter({ name: 'closed', error });
    this.shared.history.forget(this.history);
    this.endWatchers();
    this.objects.clear();
  }

  /** Enters a phase and wakes those waiting for the previous one to end; an error is passed on to them. */
  private enter(phase: Phase, error?: unknown): void {
    const left = this.phase;
    this.phase = phase;
    if (left.name === 'loading') left.load.cancel();
    if (left.name === 'loading' || left.name === 'retyping') left.leave(error);
  }

  /** Reports whether the tree follows the log. */
  private holdsState(): boolean {
    return this.phase.name === 'live' || this.phase.name === 'retyping';
  }

  private state(revision = this.revision()): State {
    return this.objects.state(revision);
  }

  private setShown(revision: Revision): void {
    this.shown = { revision, since: this.shared.clock.monotonic() };
  }

  /** Returns the revision that a list shows, and advances it if the read requires a newer one. */
  private show(at: Exclude<ReadAt, { readonly mode: 'exact' }>): Revision {
    if (at.mode === 'most-recent' || (at.mode === 'not-older-than' && at.revision > this.shown.revision))
      this.setShown(this.revision());
    return this.shown.revision;
  }

  /** Reports whether a read can use the current state. */
  private isFresh(at: ReadAt): boolean {
    if (this.phase.name !== 'live') return false;
    if (at.mode === 'any') return true;
    const wanted = at.mode === 'most-recent' ? this.shared.backend.revisionNow?.() : at.revision;
    return wanted !== undefined && wanted <= this.revision();
  }

  /**
   * Calls `take` in the same step in which the state was found to be as fresh as required. Everything is checked again after each wait: the
   * state may have been dropped in the meantime. While there is no state, the backend answers if it can; other reads wait for a limited
   * time.
   */
  private async whenFresh<T>(at: ReadAt, take: () => T, fromBackend?: () => Promise<T>): Promise<T> {
    const { waits, newest, loadWaits } = this.shared;
    for (let wanted = at; ;) {
      if (this.isFresh(wanted)) return take();
      if (this.phase.name !== 'live') {
        if (fromBackend !== undefined) return fromBackend();
        await loadWaits.wait(this.waitForPhaseEnd(), this.begun);
      } else if (wanted.mode === 'most-recent') {
        wanted = { mode: 'not-older-than', revision: await newest.fetch() };
      } else if (wanted.mode !== 'any') {
        const { revision } = wanted;
        if (wanted.atOnce === true) {
          const current = await newest.fetch();
          if (revision > current) throw tooLarge(revision, current, { atOnce: true });
          wanted = { mode: 'not-older-than', revision };
        } else {
          await waits.wait(revision);
        }
      }
    }
  }

  private async waitForPhaseEnd(): Promise<void> {
    if (this.phase.name === 'unloaded') this.load();
    const { phase } = this;
    if (phase.name === 'closed') throw phase.error;
    if (phase.name === 'loading' || phase.name === 'retyping') await phase.left;
  }

  private takeStates(at: ReadAt): ListSnapshot {
    const { retyped } = this;
    if (at.mode === 'exact') {
      const state = this.shared.snapshots ? this.history.stateAt(at.revision, this.state()) : undefined;
      return { at, state, retyped };
    }
    const shown = this.state(this.show(at));
    return { at, state: { ...shown, revision: this.revision() }, shown, retyped };
  }

  private async pageOf({ at, state, shown, retyped }: ListSnapshot, options: CacheListOptions): Promise<CachedList> {
    const { budget, clock } = this.shared;
    if (at.mode === 'exact' && state === undefined) return this.stored.list(at, options);
    const make = (of: State): Promise<CachedList> => makePage(of, options, budget, clock, retyped);
    if (state === undefined || (shown !== undefined && options.limit === 0)) return make(shown ?? this.state());
    const page = await make(state);
    // A list that will be continued uses the newest revision, which is kept longest.
    const asIs = shown === undefined || page.lastKey !== undefined || page.revision === shown.revision;
    return asIs ? page : make(shown);
  }

  private startWatch(options: CacheWatchOptions, receiver: WatchReceiver): Watcher {
    if (this.watchers.size >= this.shared.maxWatchers) {
      throw new StorageError('unavailable', `${this.resource} already has ${this.watchers.size} watchers`);
    }
    const { start } = options;
    const { history } = this;
    let watcher: CacheWatcher;
    if (start.mode === 'exact') {
      if (start.revision < this.shared.backend.compactedRevision() && start.revision < history.since)
        throw tooOld(start.revision);
      const position = start.revision < history.since ? -1 : history.positionAfter(start.revision);
      watcher = new CacheWatcher(this.source(), options, receiver, start.revision, position, undefined);
    } else {
      const state = this.state(this.show(start));
      watcher = new CacheWatcher(this.source(), options, receiver, this.revision(), history.end, state);
    }
    this.watchers.add(watcher);
    void watcher.run();
    return watcher;
  }

  private install(loaded: Loaded, events: readonly LogEvent[]): void {
    const { revision } = loaded;
    this.shared.history.forget(this.history);
    this.history = new TypeHistory(revision);
    this.groups = new WatchGroups();
    this.objects.install(loaded);
    this.loadedAt = revision;
    this.setShown(revision);
    for (const event of events) this.apply(event);
    this.enter(LIVE);
    for (const listener of this.listeners) listener();
  }

  private remake(type: CachedType): void {
    const { left, leave } = deferred();
    const phase: Phase = { name: 'retyping', left, leave };
    this.begun = this.shared.clock.monotonic();
    this.enter(phase);
    const done = (error?: unknown): void => {
      if (this.phase !== phase) return;
      this.enter(error === undefined ? LIVE : UNLOADED, error);
      if (error !== undefined) this.endWatchers();
    };
    // Also recompute the items of past states: those that are not in the present state were replaced by a change in the history.
    const items = itemsOf(this.state().tree, this.history);
    reattribute(items, type, this.shared, () => this.phase === phase).then(() => done(), done);
  }

  private apply(event: LogEvent): void {
    if (event.revision <= this.loadedAt) return;
    const before = this.state();
    const current = event.type === 'DELETED' ? undefined : cachedItem(event.object, this.objects.source);
    const change = this.objects.change(event.key, current);
    if (change === undefined) return;
    this.setShown(event.revision);
    const logged = new Change(event.key, event.revision, current, change.previous);
    this.shared.history.add(this.history, logged, before);
    this.groups.collect(logged);
  }

  private source(): WatchSource {
    const { clock, maxBacklog, backend, waits } = this.shared;
    const { history, groups } = this;
    return {
      clock,
      history,
      groups,
      maxBacklog,
      revision: () => this.revision(),
      reach: (revision, signal) => waits.reach(revision, signal),
      log: (after, signal) => backend.events(after, signal).batches,
      change: (event) => (event.resource === this.resource ? loggedChange(event, this.objects.source) : undefined),
      onStopped: (watcher) => this.watchers.delete(watcher),
    };
  }
}

/** The states that a list may show: the newest one, and the same under the revision shown to reads that accept any state. */
interface ListSnapshot {
  readonly at: ReadAt;
  /** Undefined if the backend must be asked. */
  readonly state: State | undefined;
  readonly shown?: State;
  readonly retyped: number;
}

/** Reports whether the backend can answer a list because, as in kube-apiserver, it needs no walk through all objects of the type. */
function isForBackend(at: ReadAt, { limit, predicate }: CacheListOptions): boolean {
  return at.mode === 'exact' || (limit > 0 && predicate.everything);
}

function only(list: CachedList, key: string): CachedObject | undefined {
  for (const item of list.items()) return item.key === key ? item : undefined;
  return undefined;
}
