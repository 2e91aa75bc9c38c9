import { type StorageError, tooLarge } from '../errors.js';
import type { KnownRevision, LogEvent, Revision } from '../interfaces.js';
import { EVERYTHING } from '../../apimachinery/selectors/selection-predicate.js';
import { BackendReads } from './backend-reads.js';
import { cachedItem } from './tree/cached-item.js';
import { Change } from './watch/events.js';
import { TypeHistory } from './watch/history.js';
import type {
  CachedList,
  CachedObject,
  CachedType,
  CacheListOptions,
  CacheWatchOptions,
  ReadAt,
  ReadAtPresent,
  ResourceCache,
  TypeStats,
  Watcher,
  WatchReceiver,
  WhileAway,
} from './interfaces.js';
import { LIVE, phaseEnd, TypeLoad, UNLOADED, type Loaded, type Phase } from './load.js';
import { itemsOf, Objects, reattribute } from './objects.js';
import type { Shared } from './shared.js';
import { ShownRevision } from './shown-revision.js';
import { makePage, rangeOf, type State } from './tree/page.js';
import { Watchers } from './watch/watcher.js';

/** All objects of one type: the newest state, some past ones, and the watchers. */
export class WatchCache implements ResourceCache {
  readonly resource: string;
  private type: CachedType;
  private readonly objects: Objects;
  private readonly stored: BackendReads;
  private history: TypeHistory;
  private readonly watchers: Watchers;
  private readonly listeners = new Set<() => void>();
  /** The number of times that `retype` has replaced the type. */
  retyped = 0;
  private phase: Phase = UNLOADED;
  /** The start of the last load or retyping, in monotonic milliseconds. */
  private begun = 0;
  /** The revision of the loaded state, which may be ahead of the event stream. */
  private loadedAt: Revision = 0;
  private readonly shown: ShownRevision;

  constructor(
    type: CachedType,
    private readonly shared: Shared,
  ) {
    this.type = type;
    this.resource = type.resource;
    this.history = new TypeHistory(0);
    this.shown = new ShownRevision(shared.clock, () => this.revision());
    this.objects = new Objects(
      shared,
      () => this.type,
      () => this.phase.name === 'live',
      () => {
        if (this.phase.name !== 'live') return;
        this.watchers.end();
        this.load();
      },
    );
    this.watchers = new Watchers(shared, this.objects.source, this);
    this.stored = new BackendReads(shared, this.objects.source, () => {
      if (this.phase.name === 'closed') throw this.phase.error;
      if (this.phase.name === 'unloaded') this.load();
    });
    this.load();
  }

  get logId(): string | undefined {
    return this.shared.logId?.();
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

  stats(): TypeStats {
    const { resource, objects, watchers } = this;
    return {
      resource,
      revision: this.revision(),
      objects: objects.size,
      inMemory: () => objects.inMemory(),
      watchers: watchers.size,
      undecodable: objects.undecodable,
    };
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
    return this.whenFresh(at, () => this.objects.get(key), { where: key, fromBackend: () => this.stored.get(key, at) });
  }

  getNow(key: string, at: ReadAt): CachedObject | undefined {
    return at.mode !== 'exact' && this.isFresh(at) ? this.objects.get(key) : undefined;
  }

  list(at: ReadAt, options: CacheListOptions): Promise<CachedList> {
    if (isForBackend(at, options)) return this.listLoaded(at, options, () => this.stored.list(at, options));
    const isShort = options.prefix !== '' && this.objects.source.localStates !== undefined;
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
      const where = options.prefix;
      const taken = await this.whenFresh<ListSnapshot | CachedList>(at, () => this.takeStates(at), {
        where,
        fromBackend,
      });
      if (!('retyped' in taken)) return taken;
      const list = await this.pageOf(taken, options);
      // The selector attributes may have changed while the page was made.
      if (options.predicate.everything || taken.retyped === this.retyped) return list;
    }
  }

  watch(options: CacheWatchOptions, receiver: WatchReceiver): Promise<Watcher> {
    const { start } = options;
    return this.whenFresh(start.mode === 'exact' ? { mode: 'any' } : start, () =>
      this.watchers.start(options, receiver, this.history, (at) => this.state(this.shown.for(at))),
    );
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
    this.watchers.flush();
    this.shared.warmth.evict();
  }

  sendBookmarks(now: number): void {
    this.watchers.sendBookmarks(now);
    this.shown.advance(now);
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
   * `reload`, after the revision has moved.
   */
  unload(): void {
    this.enter(UNLOADED);
  }

  /** Loads the type again, and ends the watchers of the dropped state; their clients list again. */
  reload(): void {
    this.load();
    this.watchers.end();
  }

  /** Loads the type from the store. */
  private load(): void {
    if (this.phase.name === 'closed') return;
    const load = new TypeLoad(this.shared, this.objects.source, (loaded, events) => this.install(loaded, events));
    const phase: Phase = { name: 'loading', load, ...phaseEnd() };
    this.begun = this.shared.clock.monotonic();
    this.enter(phase);
    load.run().catch((error: unknown) => {
      if (this.phase === phase) this.enter(UNLOADED, error);
    });
  }

  close(error: StorageError): void {
    this.enter({ name: 'closed', error });
    this.shared.history.forget(this.history);
    this.watchers.end();
    this.objects.clear();
  }

  /** Enters a phase and wakes those waiting for the previous one to end; an error is passed on to them. */
  private enter(phase: Phase, error?: unknown): void {
    const left = this.phase;
    this.phase = phase;
    if (left.name === 'loading') left.load.cancel();
    if (left.name === 'loading' || left.name === 'retyping') left.leave(error);
    // Only a live type is packed: what arrived during the load, or since the type was redefined, may be beyond the limit.
    if (phase === LIVE) this.shared.warmth.evict();
  }

  /** Reports whether the tree follows the log. */
  private holdsState(): boolean {
    return this.phase.name === 'live' || this.phase.name === 'retyping';
  }

  private state(revision = this.revision()): State {
    return this.objects.state(revision);
  }

  /** Reports whether a read can use the current state. */
  private isFresh(at: ReadAt): boolean {
    if (this.phase.name !== 'live') return false;
    if (at.mode === 'any') return true;
    const wanted = at.mode === 'most-recent' ? this.shared.backend.revisionNow() : at.revision;
    return wanted !== undefined && wanted <= this.revision();
  }

  /**
   * Calls `take` in the same step in which the state was found to be as fresh as required. Everything is checked again after each wait: the
   * state may have been dropped in the meantime. While there is no state, the backend answers if it can; other reads wait for a limited
   * time. `where` is the prefix of the keys that are read.
   */
  private async whenFresh<T>(
    at: ReadAt,
    take: () => T,
    {
      where = '',
      fromBackend,
    }: { readonly where?: string; readonly fromBackend?: (() => Promise<T>) | undefined } = {},
  ): Promise<T> {
    const { waits, newest, loadWaits } = this.shared;
    for (let wanted = at; ;) {
      if (this.isFresh(wanted)) return take();
      if (this.phase.name !== 'live') {
        if (fromBackend !== undefined) return this.bounded(fromBackend);
        await loadWaits.wait(this.waitForPhaseEnd(), this.begun);
      } else if (wanted.mode === 'most-recent') {
        wanted = await this.newestOrKnown(wanted.whileAway, where);
      } else if (wanted.mode !== 'any') {
        const { revision } = wanted;
        if (wanted.atOnce === true) {
          const current = await this.bounded(() => newest.fetch());
          if (revision > current) throw tooLarge(revision, current, { atOnce: true });
          wanted = { mode: 'not-older-than', revision };
        } else {
          await waits.wait(revision);
        }
      }
    }
  }

  private bounded<T>(ask: () => Promise<T>): Promise<T> {
    return this.shared.outage?.within(ask) ?? ask();
  }

  /** Returns the requirement that the most recent state is met with: the newest revision, or what `whileAway` allows without it. */
  private async newestOrKnown(whileAway: WhileAway | undefined, where: string): Promise<ReadAtPresent> {
    const { newest, outage } = this.shared;
    try {
      return { mode: 'not-older-than', revision: await this.bounded(() => newest.fetch()) };
    } catch (error) {
      if (whileAway === undefined || outage?.age === undefined || this.phase.name !== 'live') throw error;
      if (whileAway === 'if-empty' && this.peekAll(where).next().done !== true) throw error;
      return { mode: 'any' };
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
    const shown = this.state(this.shown.for(at));
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

  private install(loaded: Loaded, events: readonly LogEvent[]): void {
    const { revision } = loaded;
    this.shared.history.forget(this.history);
    this.history = new TypeHistory(revision);
    this.watchers.regroup();
    this.objects.install(loaded);
    this.loadedAt = revision;
    this.shown.set(revision);
    for (const event of events) this.apply(event);
    this.enter(LIVE);
    for (const listener of this.listeners) listener();
  }

  private remake(type: CachedType): void {
    const phase: Phase = { name: 'retyping', ...phaseEnd() };
    this.begun = this.shared.clock.monotonic();
    this.enter(phase);
    const done = (error?: unknown): void => {
      if (this.phase !== phase) return;
      this.enter(error === undefined ? LIVE : UNLOADED, error);
      if (error !== undefined) this.watchers.end();
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
    this.shown.set(event.revision);
    const logged = new Change(event.key, event.revision, current, change.previous);
    this.shared.history.add(this.history, logged, before);
    this.watchers.collect(logged);
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
function isForBackend(at: ReadAt, { limit, predicate, order }: CacheListOptions): boolean {
  return at.mode === 'exact' || (limit > 0 && predicate.everything && order === undefined);
}

function only(list: CachedList, key: string): CachedObject | undefined {
  for (const item of list.items()) return item.key === key ? item : undefined;
  return undefined;
}
