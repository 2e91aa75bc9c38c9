import type { Clock } from '../../util/clock.js';
import type { Backend } from '../interfaces.js';
import type { CachedList, CachedObject, CacheListOptions } from './interfaces.js';
import { cachedItems } from './load.js';
import { cachedItem, type ItemSource } from './tree/cached-item.js';
import { historicPage } from './tree/page.js';

/** The objects of a type in a file that this process alone writes to: what is read from there is always the newest state. */
export interface FileOfType {
  readonly resource: string;
  readonly backend: Pick<Backend, 'get' | 'list'>;
  readonly clock: Clock;
  readonly source: ItemSource;
}

/** Objects that a list read from the file shows at most. */
const MAX_LISTED = 5_000;

/** Undefined where there is no such object. */
export async function getAtHand(key: string, file: FileOfType): Promise<CachedObject | undefined> {
  const stored = await file.backend.get(file.resource, key);
  return stored && cachedItem(stored, file.source);
}

/** Undefined where the list would be long. */
export async function listAtHand(options: CacheListOptions, file: FileOfType): Promise<CachedList | undefined> {
  const { prefix, from, predicate } = options;
  const limit = predicate.everything && options.limit > 0 ? options.limit : MAX_LISTED;
  if (limit > MAX_LISTED) return undefined;
  const list = await file.backend.list(file.resource, { prefix, from, limit, revision: 0 });
  if (list.more && limit !== options.limit) return undefined;
  const items = await cachedItems(list.items, file.source, file.clock);
  return historicPage(list.revision, items, options, list.more, list.remaining);
}
