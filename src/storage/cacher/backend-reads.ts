import { StorageError, tooLarge } from '../errors.js';
import type { ListOptions, StoredList } from '../interfaces.js';
import { cachedItem, type CachedItem, type ItemSource } from './tree/cached-item.js';
import { historicPage } from './tree/page.js';
import type { CachedList, CacheListOptions, ReadAt } from './interfaces.js';
import { cachedItems } from './load.js';
import type { Shared } from './shared.js';

/** The maximum number of objects that a list of a namespace reads from the backend while the type loads; a longer list waits for the load. */
const MAX_SHORT = 5_000;

/** Serves reads of one type from the backend: those of past revisions, and those that arrive while the cache has no state. */
export class BackendReads {
  constructor(
    private readonly shared: Shared,
    private readonly source: ItemSource,
    /** Starts a load if the type has no state and none is running; throws if the cache is closed. */
    private readonly load: () => void,
  ) {}

  async list(at: ReadAt, options: CacheListOptions): Promise<CachedList> {
    const { prefix, from, limit, predicate, order } = options;
    if (order !== undefined) return this.page(await this.listBackend(at, { prefix, from: '' }, 0), options);
    return this.page(await this.listBackend(at, { prefix, from }, predicate.everything ? limit : 0), options);
  }

  /** Lists a namespace, or returns undefined if it has more than MAX_SHORT objects. */
  async shortList(at: ReadAt, options: CacheListOptions): Promise<CachedList | undefined> {
    const { prefix, from, order } = options;
    const list = await this.listBackend(at, { prefix, from: order === undefined ? from : '' }, MAX_SHORT);
    return list.more ? undefined : this.page(list, options);
  }

  async get(key: string, at: ReadAt): Promise<CachedItem | undefined> {
    const { items } = await this.listBackend(at, { prefix: key, from: key }, 1);
    const [first] = items;
    return first?.key === key ? cachedItem(first, this.source) : undefined;
  }

  private async page(list: StoredList, options: CacheListOptions): Promise<CachedList> {
    const { clock } = this.shared;
    return historicPage(list.revision, await cachedItems(list.items, this.source, clock), options, list, clock);
  }

  /** Lists a state at least as new as required and not older than any seen before: a newly elected primary may list an old state. */
  private async listBackend(
    at: ReadAt,
    { prefix, from }: Pick<ListOptions, 'prefix' | 'from'>,
    limit: number,
  ): Promise<StoredList> {
    const { backend, newest, waits } = this.shared;
    const { resource } = this.source.type();
    this.load();
    if (at.mode === 'exact') return backend.list(resource, { prefix, from, limit, revision: at.revision });
    const seen = at.mode === 'most-recent' ? await newest.fetch() : waits.revision;
    const list = await backend.list(resource, { prefix, from, limit, revision: 0 });
    if (list.revision < seen) {
      const message = `the store returned a list at revision ${list.revision}, but revision ${seen} was already seen`;
      throw new StorageError('unavailable', message);
    }
    if (at.mode === 'not-older-than' && at.revision > list.revision) throw tooLarge(at.revision, list.revision, at);
    return list;
  }
}
