import type { Clock } from '../../util/clock.js';
import { StorageError, tooLarge } from '../errors.js';
import type { Backend, LogEvent, Revision, StoredObject } from '../interfaces.js';
import { EVERYTHING } from '../selection-predicate.js';
import { nextTurn, SLICE_MILLIS } from '../../scheduling/slicing.js';
import { dropLeaf, replaceLeaves, type ItemLeaf, type LeafData } from './tree/blocks.js';
import { Tree } from './tree/btree.js';
import type { Budget } from './budget.js';
import { cachedItem, type CachedItem, type Home } from './tree/cached-item.js';
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
  readonly maxBacklog: number;
  readonly maxWatchers: number;
  /** Whether exact lists may be answered from memory. */
  readonly snapshots: boolean;
}

/** Events that may gather while a type is loaded; beyond it the load begins anew. */
const MAX_PENDING = 50_000;
const LOAD_ATTEMPTS = 5;
const RETRY_MILLIS = 500;
/** After so long the version that lists show moves up, well within the history that watches may begin in. */
const SHOWN_MILLIS = 60_000;

/** All objects of one type: the newest state, some past ones, and the watchers. */
export class TypeCache implements ResourceCache {
  readonly resource: string;
  private type: CachedType;
  private tree: ItemTree = Tree.empty<CachedItem, LeafData>();
  /** The same objects by key: a look-up costs the same however many there are. */
  private index = new Map<string, CachedItem>();
  private undecodable = 0;
  private history: TypeHistory;
  private groups = new WatchGroups();
  private readonly watchers = new Set<CacheWatcher>();
  /** Events that came while the type was being loaded. */
  private pending: LogEvent[] | undefined = [];
  private overflowed = false;
  /** How often the type was described anew. */
  private retyped = 0;
  /** Counts loads, so that one that has been overtaken can tell. */
  private generation = 0;
  /** Resolves when the cache is ready; undefined once it is. */
  private loading: Promise<void> | undefined;
  private closed: StorageError | undefined;
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
    this.startLoading();
  }

  revision(): Revision {
    return Math.max(this.shared.waits.revision, this.loadedAt);
  }

  size(): number {
    return this.tree.size;
  }

  watcherCount(): number {
    return this.watchers.size;
  }

  peek(key: string): CachedObject | undefined {
    return this.index.get(key);
  }

  async ready(): Promise<void> {
    await this.whenFresh({ mode: 'any' });
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
    const wait = this.whenFresh(at);
    return wait === undefined ? Promise.resolve(this.index.get(key)) : wait.then(() => this.index.get(key));
  }

  getNow(key: string, at: ReadAt): CachedObject | undefined {
    return at.mode !== 'exact' && this.isFresh(at) ? this.index.get(key) : undefined;
  }

  async list(at: ReadAt, options: CacheListOptions): Promise<CachedList> {
    const wait = this.whenFresh(at);
    if (wait !== undefined) await wait;
    const { budget, clock } = this.shared;
    const pageOf = (state: State): Promise<CachedList> => makePage(state, options, budget, clock, this.retyped);
    if (at.mode !== 'exact') {
      const shown = this.state(this.show(at));
      if (options.limit === 0) return pageOf(shown);
      const page = await pageOf({ ...shown, revision: this.revision() });
      // A list that goes on does so from the newest version, which is kept for longest.
      return page.lastKey !== undefined || page.revision === shown.revision ? page : pageOf(shown);
    }
    const state = this.shared.snapshots ? this.history.stateAt(at.revision, this.state()) : undefined;
    return state === undefined ? this.listFromBackend(at.revision, options) : pageOf(state);
  }

  async watch(options: CacheWatchOptions, receiver: WatchReceiver): Promise<Watcher> {
    const { start } = options;
    const wait = this.whenFresh(start.mode === 'exact' ? { mode: 'any' } : start);
    if (wait !== undefined) await wait;
    if (this.watchers.size >= this.shared.maxWatchers) {
      throw new StorageError('unavailable', `${this.watchers.size} watchers of ${this.resource} are open already`);
    }
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

  /** Takes a committed event of this type. */
  take(event: LogEvent): void {
    if (this.pending === undefined) this.apply(event);
    else if (this.pending.length < MAX_PENDING) this.pending.push(event);
    else this.overflowed = true;
  }

  /** Hands what came to the watchers. */
  flush(): void {
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
    if (this.pending === undefined) this.block(this.reattribute(type));
  }

  /** The event stream has a hole: watchers are ended and the state is read again. */
  reload(): void {
    this.endWatchers('closed');
    this.startLoading();
  }

  close(error: StorageError): void {
    this.closed = error;
    this.history.close();
    this.endWatchers('closed');
    this.setTree(Tree.empty<CachedItem, LeafData>(), 0);
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
    if (this.closed !== undefined || this.loading !== undefined || this.pending !== undefined) return false;
    if (at.mode === 'any') return true;
    const wanted = at.mode === 'most-recent' ? this.shared.backend.revisionNow?.() : at.revision;
    return wanted !== undefined && wanted <= this.revision();
  }

  /** A promise where a read has to wait for what it asks for. */
  private whenFresh(at: ReadAt): Promise<void> | undefined {
    if (this.isFresh(at)) return undefined;
    if (this.closed !== undefined) return Promise.reject(this.closed);
    if (this.loading === undefined && this.pending !== undefined) this.startLoading();
    if (this.loading !== undefined) return this.loading.then(() => this.whenFresh(at));
    if (at.mode === 'any') return undefined;
    if (at.mode === 'most-recent') {
      const { backend, newest } = this.shared;
      if (backend.revisionNow === undefined) return newest.ask().then((revision) => this.reach(revision));
      return this.reach(backend.revisionNow());
    }
    return at.atOnce === true && at.revision > this.revision() ? this.reachKnown(at.revision) : this.reach(at.revision);
  }

  /** The cache may be a little behind; what the store does not have either is refused. */
  private async reachKnown(revision: Revision): Promise<void> {
    const newest = await this.shared.newest.ask();
    if (revision > newest) throw tooLarge(revision, newest, true);
    await this.reach(revision);
  }

  private reach(revision: Revision): Promise<void> | undefined {
    return revision <= this.revision() ? undefined : this.shared.waits.wait(revision);
  }

  private async listFromBackend(revision: Revision, options: CacheListOptions): Promise<CachedList> {
    const { predicate, prefix, from } = options;
    const limit = predicate.everything ? options.limit : 0;
    const list = await this.shared.backend.list(this.resource, { prefix, from, limit, revision });
    return historicPage(revision, await this.convert(list.items), options, list.more, list.remaining);
  }

  private async convert(stored: readonly StoredObject[]): Promise<CachedItem[]> {
    const { clock, budget } = this.shared;
    const items: CachedItem[] = [];
    let until = clock.monotonic() + SLICE_MILLIS;
    for (const each of stored) {
      items.push(cachedItem(each, this.type, budget));
      if (clock.monotonic() < until) continue;
      await nextTurn();
      until = clock.monotonic() + SLICE_MILLIS;
    }
    return items;
  }

  private startLoading(): void {
    this.pending = [];
    this.block(this.load(++this.generation));
  }

  /** Lets reads wait for something. They report its failure; the next one tries again. */
  private block(work: Promise<void>): void {
    const loading = work.finally(() => {
      if (this.loading === loading) this.loading = undefined;
    });
    this.loading = loading;
    loading.catch(() => undefined);
  }

  private async load(generation: number): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const pending: LogEvent[] = [];
      this.pending = pending;
      this.overflowed = false;
      try {
        const list = await this.shared.backend.list(this.resource, { prefix: '', from: '', limit: 0, revision: 0 });
        const items = await this.convert(list.items);
        if (this.generation !== generation) return;
        if (this.closed !== undefined) throw this.closed;
        if (this.isOverflowed()) continue;
        this.install(items, list.revision, pending);
        return;
      } catch (error) {
        if (this.closed !== undefined) throw this.closed;
        if (attempt >= LOAD_ATTEMPTS || (error instanceof StorageError && error.code === 'closed')) throw error;
        await new Promise<void>((resolve) => this.shared.clock.setTimer(RETRY_MILLIS, resolve));
        if (this.generation !== generation) return;
      }
    }
  }

  private isOverflowed(): boolean {
    return this.overflowed;
  }

  private install(items: readonly CachedItem[], revision: Revision, pending: readonly LogEvent[]): void {
    this.history.close();
    this.history = new TypeHistory(revision);
    this.groups = new WatchGroups();
    this.setTree(Tree.from<CachedItem, LeafData>(items), items.filter((item) => item.undecodable).length);
    this.loadedAt = revision;
    this.setShown(revision);
    this.pending = undefined;
    for (const event of pending) if (event.revision > revision) this.apply(event);
  }

  private setTree(tree: ItemTree, undecodable: number): void {
    for (const { leaf } of this.tree.segments(0, this.tree.size)) dropLeaf(leaf);
    this.tree = tree;
    this.index = new Map<string, CachedItem>();
    for (const item of tree) this.index.set(item.key, item);
    this.undecodable = undecodable;
  }

  private async reattribute(type: CachedType): Promise<void> {
    const { clock } = this.shared;
    let until = clock.monotonic() + SLICE_MILLIS;
    for (const item of this.tree) {
      if (this.type !== type) return;
      item.reattribute(type);
      if (clock.monotonic() < until) continue;
      await nextTurn();
      until = clock.monotonic() + SLICE_MILLIS;
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
    replaceLeaves(edit.removed, edit.added, this.shared.budget);
    if (current === undefined) this.index.delete(event.key);
    else this.index.set(event.key, current);
    if (previous !== undefined) supersede(previous, edit.added);
    const change = new Change(event.key, event.revision, current, previous);
    this.shared.history.add(this.history, change, before);
    this.groups.collect(change);
  }

  private endWatchers(reason: 'closed'): void {
    for (const watcher of [...this.watchers]) watcher.end(reason);
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

function only(list: CachedList, key: string): CachedObject | undefined {
  for (const item of list.items()) return item.key === key ? item : undefined;
  return undefined;
}

/** The object has a successor: it keeps its bytes apart from the block, and nothing else. */
function supersede(item: CachedItem, leaves: readonly ItemLeaf[]): void {
  item.dropDerived();
  const home = item.leave();
  if (home !== undefined && home.live * 2 < home.bytes.length) vacate(home, leaves);
}

/** A block that is hardly used is given up. */
function vacate(home: Home, leaves: readonly ItemLeaf[]): void {
  for (const leaf of leaves) {
    for (const item of leaf.items) if (item.livesIn(home)) item.leave();
  }
}

function loggedChange(event: LogEvent, type: CachedType, budget: Budget): Change {
  const current = event.type === 'DELETED' ? undefined : cachedItem(event.object, type, budget);
  const previous = event.previous === undefined ? undefined : cachedItem(event.previous, type, budget);
  return new Change(event.key, event.revision, current, previous);
}
