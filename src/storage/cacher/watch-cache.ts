import type { Clock } from '../../util/clock.js';
import { StorageError, tooLarge, type Undecodable } from '../errors.js';
import { describeUndecodable } from '../undecodable.js';
import type { Backend, ListOptions, LogEvent, Revision, StoredList } from '../interfaces.js';
import { EVERYTHING } from '../selection-predicate.js';
import { Slicer } from '../../scheduling/slicer.js';
import { dropLeaf, replaceLeaves, type LeafData } from './tree/blocks.js';
import { Tree } from './tree/btree.js';
import type { Budget } from './budget.js';
import { cachedItem, type CachedItem } from './tree/cached-item.js';
import { itemsOf, loggedChange, supersede } from './changes.js';
import { CachedEvent, Change } from './events.js';
import { TypeHistory, type History } from './history.js';
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
import { cachedItems, TypeLoad } from './load.js';
import type { LoadWaits } from './load-waits.js';
import { deferred, LIVE, UNLOADED, type Phase } from './phase.js';
import { historicPage, makePage, rangeOf, tooOld, type ItemTree, type State } from './tree/page.js';
import type { NewestRevision, RevisionWaits } from './waits.js';
import { WatchGroups } from './watch-groups.js';
import { CacheWatcher, type WatchSource } from './watcher.js';

/** What the caches of all types share. */
export interface Shared {
  readonly backend: Backend;
  readonly clock: Clock;
  readonly budget: Budget;
  readonly history: History;
  readonly waits: RevisionWaits;
  readonly newest: NewestRevision;
  readonly loadWaits: LoadWaits;
  readonly maxBacklog: number;
  readonly maxWatchers: number;
  readonly maxPending: number;
  /** Whether exact lists may be answered from memory. */
  readonly snapshots: boolean;
  /** Identity of the log; undefined where nothing tells logs apart. */
  readonly logId: string | undefined;
  readonly undecodable: ((resource: string, objects: number, one: Undecodable) => void) | undefined;
}

/** After so long the version that lists show moves up, well within the history that watches may begin in. */
const SHOWN_MILLIS = 60_000;

/** All objects of one type: the newest state, some past ones, and the watchers. */
export class WatchCache implements ResourceCache {
  readonly resource: string;
  private type: CachedType;
  private tree: ItemTree = Tree.empty<CachedItem, LeafData>();
  /** The same objects by key: a look-up costs the same however many there are. */
  private index = new Map<string, CachedItem>();
  private undecodable = 0;
  private history: TypeHistory;
  private groups = new WatchGroups();
  private readonly watchers = new Set<CacheWatcher>();
  private readonly listeners = new Set<() => void>();
  /** How often the type was described anew. */
  private retyped = 0;
  private phase: Phase = UNLOADED;
  /** When the type was last begun to be loaded, or to be described anew. */
  private begun = 0;
  /** Newest revision that the loaded state shows, where the event stream has not come that far yet. */
  private loadedAt: Revision = 0;
  /**
   * The version that lists show which take what there is: as in kube-apiserver that of the type's own last change, or of the last read
   * that had to be newer, not that of the whole log. It moves up by itself, so that a watch may begin there.
   */
  private shown: { readonly revision: Revision; readonly since: number } = { revision: 0, since: 0 };

  constructor(
    type: CachedType,
    private readonly shared: Shared,
  ) {
    this.type = type;
    this.resource = type.resource;
    this.history = new TypeHistory(0);
    this.load();
  }

  get logId(): string | undefined {
    return this.shared.logId;
  }

  revision(): Revision {
    const { revision } = this.shared.waits;
    return this.holdsState() ? Math.max(revision, this.loadedAt) : revision;
  }

  size(): number {
    return this.tree.size;
  }

  watcherCount(): number {
    return this.watchers.size;
  }

  undecodableCount(): number {
    return this.undecodable;
  }

  peek(key: string): CachedObject | undefined {
    return this.index.get(key);
  }

  async ready(): Promise<void> {
    while (this.phase.name !== 'live') await this.phaseLeft();
  }

  *peekAll(prefix: string): Generator<CachedObject, void, undefined> {
    const { tree } = this;
    const { from, to } = rangeOf(tree, prefix);
    for (const { leaf, start, end } of tree.segments(from, to)) {
      for (let i = start; i < end; i++) {
        const item = leaf.items[i];
        if (item !== undefined) yield item;
      }
    }
  }

  get(key: string, at: ReadAt): Promise<CachedObject | undefined> {
    if (at.mode === 'exact')
      return this.list(at, { prefix: key, from: key, limit: 1, predicate: EVERYTHING }).then((list) => only(list, key));
    if (this.isFresh(at)) return Promise.resolve(this.index.get(key));
    return this.whenFresh(
      at,
      () => this.index.get(key),
      () => this.getFromBackend(key, at),
    );
  }

  getNow(key: string, at: ReadAt): CachedObject | undefined {
    return at.mode !== 'exact' && this.isFresh(at) ? this.index.get(key) : undefined;
  }

  async list(at: ReadAt, options: CacheListOptions): Promise<CachedList> {
    const fromBackend = isForBackend(at, options)
      ? (): Promise<CachedList> => this.listFromBackend(at, options)
      : undefined;
    for (;;) {
      const taken = await this.whenFresh<Taken | CachedList>(at, () => this.takeStates(at), fromBackend);
      if (!('retyped' in taken)) return taken;
      const list = await this.pageOf(taken, options);
      // What selectors see may have changed while the page was made.
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

  /** Hands what came to the watchers. */
  flush(): void {
    if (this.holdsState()) for (const listener of this.listeners) listener();
    this.groups.flush();
    for (const watcher of this.watchers) watcher.checkBacklog();
  }

  sendBookmarks(now: number): void {
    let event: CachedEvent | undefined;
    const make = (): CachedEvent => (event ??= new CachedEvent('BOOKMARK', this.revision(), undefined));
    for (const watcher of this.watchers) watcher.bookmark(now, make);
    if (now - this.shown.since >= SHOWN_MILLIS) this.setShown(this.revision());
  }

  /** The type is described anew: what selectors see is made again, in slices; reads wait for it. */
  retype(type: CachedType): void {
    if (type.attributes === this.type.attributes) return;
    this.type = type;
    this.retyped++;
    if (this.holdsState()) this.remake(type);
  }

  /**
   * The state no longer belongs to the revision that is about to be shown: nobody may read it from now on. To be followed by `load`,
   * after the revision has moved.
   */
  unload(): void {
    this.enter(UNLOADED);
  }

  /** Reads everything anew. */
  load(): void {
    if (this.phase.name === 'closed') return;
    const { resource, shared } = this;
    const { backend, clock, budget, waits, maxPending } = shared;
    const load = new TypeLoad({
      resource,
      backend,
      clock,
      budget,
      maxPending,
      type: () => this.type,
      followed: () => waits.revision,
      install: (items, revision, events) => {
        this.install(items, revision, events);
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

  /** Ends the watchers of a state that has been given up; their clients list anew. */
  endWatchers(): void {
    for (const watcher of [...this.watchers]) watcher.end('closed');
  }

  close(error: StorageError): void {
    this.enter({ name: 'closed', error });
    this.shared.history.forget(this.history);
    this.endWatchers();
    this.setTree(Tree.empty<CachedItem, LeafData>(), 0);
  }

  /** Whoever waits for the phase to end looks again; with an error, which is theirs. */
  private enter(phase: Phase, error?: unknown): void {
    const left = this.phase;
    this.phase = phase;
    if (left.name === 'loading') left.load.cancel();
    if (left.name === 'loading' || left.name === 'retyping') left.leave(error);
  }

  /** Whether the tree follows the log. */
  private holdsState(): boolean {
    return this.phase.name === 'live' || this.phase.name === 'retyping';
  }

  private state(revision = this.revision()): State {
    return { tree: this.tree, revision, undecodable: this.undecodable };
  }

  private setShown(revision: Revision): void {
    this.shown = { revision, since: this.shared.clock.monotonic() };
  }

  /** The version that a list shows, which is as new as it has to be. */
  private show(at: Exclude<ReadAt, { readonly mode: 'exact' }>): Revision {
    if (at.mode === 'most-recent' || (at.mode === 'not-older-than' && at.revision > this.shown.revision))
      this.setShown(this.revision());
    return this.shown.revision;
  }

  /** Whether a read can take what is there. */
  private isFresh(at: ReadAt): boolean {
    if (this.phase.name !== 'live') return false;
    if (at.mode === 'any') return true;
    const wanted = at.mode === 'most-recent' ? this.shared.backend.revisionNow?.() : at.revision;
    return wanted !== undefined && wanted <= this.revision();
  }

  /**
   * Calls `take` in the very step in which the state was found to be as fresh as asked for. After each wait everything is looked at
   * again: the state may have been given up meanwhile. While there is no state, the backend answers, where it can; other reads wait
   * for a while.
   */
  private async whenFresh<T>(at: ReadAt, take: () => T, fromBackend?: () => Promise<T>): Promise<T> {
    const { waits, newest, loadWaits } = this.shared;
    for (let wanted = at; ;) {
      if (this.isFresh(wanted)) return take();
      if (this.phase.name !== 'live') {
        if (fromBackend !== undefined) return fromBackend();
        await loadWaits.wait(this.phaseLeft(), this.begun);
      } else if (wanted.mode === 'most-recent') {
        wanted = { mode: 'not-older-than', revision: await newest.ask() };
      } else if (wanted.mode !== 'any') {
        const { revision } = wanted;
        if (wanted.atOnce === true) {
          const current = await newest.ask();
          if (revision > current) throw tooLarge(revision, current, true);
          wanted = { mode: 'not-older-than', revision };
        } else {
          await waits.wait(revision);
        }
      }
    }
  }

  private async phaseLeft(): Promise<void> {
    if (this.phase.name === 'unloaded') this.load();
    const { phase } = this;
    if (phase.name === 'closed') throw phase.error;
    if (phase.name === 'loading' || phase.name === 'retyping') await phase.left;
  }

  private takeStates(at: ReadAt): Taken {
    const { retyped } = this;
    if (at.mode === 'exact') {
      const state = this.shared.snapshots ? this.history.stateAt(at.revision, this.state()) : undefined;
      return { at, state, retyped };
    }
    const shown = this.state(this.show(at));
    return { at, state: { ...shown, revision: this.revision() }, shown, retyped };
  }

  private async pageOf({ at, state, shown, retyped }: Taken, options: CacheListOptions): Promise<CachedList> {
    const { budget, clock } = this.shared;
    if (at.mode === 'exact' && state === undefined) return this.listFromBackend(at, options);
    const make = (of: State): Promise<CachedList> => makePage(of, options, budget, clock, retyped);
    if (state === undefined || (shown !== undefined && options.limit === 0)) return make(shown ?? this.state());
    const page = await make(state);
    // A list that goes on does so from the newest version, which is kept for longest.
    const asIs = shown === undefined || page.lastKey !== undefined || page.revision === shown.revision;
    return asIs ? page : make(shown);
  }

  private startWatch(options: CacheWatchOptions, receiver: WatchReceiver): Watcher {
    if (this.watchers.size >= this.shared.maxWatchers) {
      throw new StorageError('unavailable', `${this.watchers.size} watchers of ${this.resource} are open already`);
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

  private async listFromBackend(at: ReadAt, options: CacheListOptions): Promise<CachedList> {
    const { predicate, prefix, from } = options;
    const limit = predicate.everything ? options.limit : 0;
    const list = await this.askBackend(at, { prefix, from, limit });
    const items = await cachedItems(list.items, this.type, this.shared.budget, this.shared.clock);
    return historicPage(list.revision, items, options, list.more, list.remaining);
  }

  private async getFromBackend(key: string, at: ReadAt): Promise<CachedItem | undefined> {
    const { items } = await this.askBackend(at, { prefix: key, from: key, limit: 1 });
    const [first] = items;
    return first?.key === key ? cachedItem(first, this.type, this.shared.budget) : undefined;
  }

  /** A list of a state as new as asked for, and not older than what was seen: a primary just elected may list the past. */
  private async askBackend(at: ReadAt, options: Omit<ListOptions, 'revision'>): Promise<StoredList> {
    const { backend, newest, waits } = this.shared;
    if (this.phase.name === 'closed') throw this.phase.error;
    if (this.phase.name === 'unloaded') this.load();
    if (at.mode === 'exact') return backend.list(this.resource, { ...options, revision: at.revision });
    const seen = at.mode === 'most-recent' ? await newest.ask() : waits.revision;
    const list = await backend.list(this.resource, { ...options, revision: 0 });
    if (list.revision < seen) {
      throw new StorageError('unavailable', `the store listed revision ${list.revision}, but ${seen} is there`);
    }
    if (at.mode === 'not-older-than' && at.revision > list.revision)
      throw tooLarge(at.revision, list.revision, at.atOnce === true);
    return list;
  }

  private install(items: readonly CachedItem[], revision: Revision, events: readonly LogEvent[]): void {
    this.shared.history.forget(this.history);
    this.history = new TypeHistory(revision);
    this.groups = new WatchGroups();
    const undecodable = items.filter((item) => item.undecodable);
    this.setTree(Tree.from<CachedItem, LeafData>(items), undecodable.length);
    if (undecodable[0] !== undefined) this.report(undecodable.length, undecodable[0]);
    this.loadedAt = revision;
    this.setShown(revision);
    for (const event of events) this.apply(event);
    this.enter(LIVE);
    for (const listener of this.listeners) listener();
  }

  private report(objects: number, one: CachedItem): void {
    this.shared.undecodable?.(this.resource, objects, describeUndecodable(one));
  }

  private setTree(tree: ItemTree, undecodable: number): void {
    for (const { leaf } of this.tree.segments(0, this.tree.size)) dropLeaf(leaf);
    this.tree = tree;
    this.index = new Map<string, CachedItem>();
    for (const item of tree) this.index.set(item.key, item);
    this.undecodable = undecodable;
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
    this.reattribute(type, phase).then(() => done(), done);
  }

  /** Also of past states: what they hold beside the present ones was superseded by a change in the history. */
  private async reattribute(type: CachedType, phase: Phase): Promise<void> {
    const slicer = new Slicer(this.shared.clock);
    for (const item of itemsOf(this.tree, this.history)) {
      item.reattribute(type);
      if (!slicer.isOver) continue;
      await slicer.yield();
      if (this.phase !== phase) return;
    }
  }

  private apply(event: LogEvent): void {
    if (event.revision <= this.loadedAt) return;
    const before = this.state();
    const current = event.type === 'DELETED' ? undefined : cachedItem(event.object, this.type, this.shared.budget);
    const edit = current === undefined ? this.tree.delete(event.key) : this.tree.set(current);
    const previous = edit.previous;
    if (current === undefined && previous === undefined) return;
    this.tree = edit.tree;
    this.setShown(event.revision);
    this.undecodable += (current?.undecodable === true ? 1 : 0) - (previous?.undecodable === true ? 1 : 0);
    if (current?.undecodable === true) this.report(1, current);
    replaceLeaves(edit.removed, edit.added, this.shared.budget);
    if (current === undefined) this.index.delete(event.key);
    else this.index.set(event.key, current);
    if (previous !== undefined) supersede(previous, edit.added);
    const change = new Change(event.key, event.revision, current, previous);
    this.shared.history.add(this.history, change, before);
    this.groups.collect(change);
  }

  private source(): WatchSource {
    const { clock, maxBacklog, backend, budget, waits } = this.shared;
    const { history, groups } = this;
    return {
      clock,
      history,
      groups,
      maxBacklog,
      revision: () => this.revision(),
      reach: (revision, signal) => waits.reach(revision, signal),
      log: (after, signal) => backend.events(after, signal).batches,
      change: (event) => (event.resource === this.resource ? loggedChange(event, this.type, budget) : undefined),
      left: (watcher) => this.watchers.delete(watcher),
    };
  }
}

/** The states that a list may show: what is newest, and under which revision it is shown where that is not asked for. */
interface Taken {
  readonly at: ReadAt;
  /** Undefined where the backend has to be asked. */
  readonly state: State | undefined;
  readonly shown?: State;
  readonly retyped: number;
}

/** As in kube-apiserver, what needs no walk through all objects of the type. */
function isForBackend(at: ReadAt, { limit, predicate }: CacheListOptions): boolean {
  return at.mode === 'exact' || (limit > 0 && predicate.everything);
}

function only(list: CachedList, key: string): CachedObject | undefined {
  for (const item of list.items()) return item.key === key ? item : undefined;
  return undefined;
}
