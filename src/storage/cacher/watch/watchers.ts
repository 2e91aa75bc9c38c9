import { compacted, StorageError } from '../../errors.js';
import type { Revision } from '../../interfaces.js';
import { loggedChange } from '../changes.js';
import type { CacheWatchOptions, ReadAtPresent, WatchReceiver } from '../interfaces.js';
import type { Shared } from '../shared.js';
import type { ItemSource } from '../tree/cached-item.js';
import type { State } from '../tree/page.js';
import { CachedEvent, type Change } from './events.js';
import { WatchGroups } from './groups.js';
import type { TypeHistory } from './history.js';
import { CacheWatcher, type WatchSource } from './watcher.js';

/** The watchers of a type. Those that have caught up with its history are in groups, which receive the changes. */
export class Watchers {
  private groups = new WatchGroups();
  private readonly all = new Set<CacheWatcher>();

  constructor(
    private readonly shared: Shared,
    private readonly items: ItemSource,
    /** Returns the revision up to which the cache has seen every event. */
    private readonly revision: () => Revision,
  ) {}

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
    const source = this.source(history);
    let watcher: CacheWatcher;
    if (start.mode === 'exact') {
      const { revision } = start;
      if (revision < backend.compactedRevision() && revision < history.since) throw compacted(revision);
      const position = revision < history.since ? -1 : history.positionAfter(revision);
      watcher = new CacheWatcher(source, options, receiver, revision, position, undefined);
    } else {
      watcher = new CacheWatcher(source, options, receiver, this.revision(), history.end, initialState(start));
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
    for (const watcher of this.all) watcher.checkBacklog();
  }

  sendBookmarks(now: number): void {
    let event: CachedEvent | undefined;
    const make = (): CachedEvent => (event ??= new CachedEvent('BOOKMARK', this.revision(), undefined));
    for (const watcher of this.all) watcher.bookmark(now, make);
  }

  /** Called when the type has been loaded: changes from now on reach only the watchers that start from now on. */
  regroup(): void {
    this.groups = new WatchGroups();
  }

  /** Ends all watchers. */
  end(): void {
    for (const watcher of [...this.all]) watcher.end('closed');
  }

  private source(history: TypeHistory): WatchSource {
    const { clock, maxBacklog, backend, waits } = this.shared;
    const { groups, items } = this;
    const { resource } = items.type();
    return {
      clock,
      history,
      groups,
      maxBacklog,
      revision: () => this.revision(),
      reach: (revision, signal) => waits.reach(revision, signal),
      log: (after, signal) => backend.events(after, signal),
      change: (event) => (event.resource === resource ? loggedChange(event, items) : undefined),
      onStopped: (watcher) => this.all.delete(watcher),
    };
  }
}
