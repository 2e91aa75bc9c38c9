import { StorageError, tooLarge } from '../errors.js';
import type { ListOptions, StoredList } from '../interfaces.js';
import { cachedItem, type CachedItem, type ItemSource } from './tree/cached-item.js';
import { historicPage } from './tree/page.js';
import type { CachedList, CacheListOptions, ReadAt } from './interfaces.js';
import { cachedItems } from './load/load.js';
import type { Shared } from './shared.js';

/** Objects of a namespace that a list reads while the type is loaded; a longer list waits. */
const MAX_SHORT = 5_000;

/** Reads of one type that the backend answers: those of the past, and those that come while the cache has no state. */
export class BackendReads {
  constructor(
    private readonly shared: Shared,
    private readonly source: ItemSource,
    /** Loads the state where nothing does yet; throws when the cache is closed. */
    private readonly load: () => void,
  ) {}

  async list(at: ReadAt, options: CacheListOptions): Promise<CachedList> {
    const { predicate, prefix, from } = options;
    const limit = predicate.everything ? options.limit : 0;
    const list = await this.ask(at, { prefix, from, limit });
    const items = await cachedItems(list.items, this.source, this.shared.clock);
    return historicPage(list.revision, items, options, list.more, list.remaining);
  }

  /** A list of a namespace; undefined where that is long. */
  async shortList(at: ReadAt, options: CacheListOptions): Promise<CachedList | undefined> {
    const { prefix, from } = options;
    const list = await this.ask(at, { prefix, from, limit: MAX_SHORT });
    if (list.more) return undefined;
    const items = await cachedItems(list.items, this.source, this.shared.clock);
    return historicPage(list.revision, items, options, false, 0);
  }

  async get(key: string, at: ReadAt): Promise<CachedItem | undefined> {
    const { items } = await this.ask(at, { prefix: key, from: key, limit: 1 });
    const [first] = items;
    return first?.key === key ? cachedItem(first, this.source) : undefined;
  }

  /** Lists a state as new as asked for, and not older than any seen before: a newly elected primary may list the past. */
  private async ask(at: ReadAt, options: Omit<ListOptions, 'revision'>): Promise<StoredList> {
    const { backend, newest, waits } = this.shared;
    const { resource } = this.source.type();
    this.load();
    if (at.mode === 'exact') return backend.list(resource, { ...options, revision: at.revision });
    const seen = at.mode === 'most-recent' ? await newest.ask() : waits.revision;
    const list = await backend.list(resource, { ...options, revision: 0 });
    if (list.revision < seen) {
      throw new StorageError('unavailable', `the store listed revision ${list.revision}, but ${seen} is there`);
    }
    if (at.mode === 'not-older-than' && at.revision > list.revision) throw tooLarge(at.revision, list.revision, at);
    return list;
  }
}
