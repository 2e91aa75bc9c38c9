import { ApiError } from '../../apimachinery/meta/errors.js';
import { asError } from '../../util/error-message.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { DeletedCollection, ListOptions } from '../rest/storage.js';
import { deleteObject, type DeleteInput } from './delete.js';
import { listObjects } from './list.js';
import { type ResourceStore, splitKey } from './store/resource-store.js';

/** The maximum number of concurrent deletions; they share the store's commits. */
const WORKERS = 64;
const PAGE_SIZE = 10_000;

interface CollectionInput extends Omit<DeleteInput, 'name'> {
  /** Deletes one object after the other, in list order. */
  readonly inOrder?: boolean;
}

/** Deletes the objects that a list selects, page by page. Objects that are already gone are not errors. */
export async function deleteListed(
  store: ResourceStore,
  request: CollectionInput,
  selection: ListOptions,
): Promise<DeletedCollection> {
  const items: CachedObject[] = [];
  let page: ListOptions = selection.limit > 0 ? selection : { ...selection, limit: PAGE_SIZE };
  let revision = 0;
  for (;;) {
    const result = await listObjects(store, request.namespace, page);
    if (revision === 0) revision = result.list.revision;
    const found = [...result.list.items()];
    items.push(...found);
    await deleteAll(store, request, found);
    if (result.continue === '' || selection.limit > 0) {
      return { items, revision, continue: result.continue, remainingItemCount: result.remainingItemCount };
    }
    page = { ...page, continue: result.continue, resourceVersion: '', resourceVersionMatch: '' };
  }
}

async function deleteAll(
  store: ResourceStore,
  request: CollectionInput,
  found: readonly CachedObject[],
): Promise<void> {
  let next = 0;
  const failures: { readonly at: number; readonly error: unknown }[] = [];
  const work = async (): Promise<void> => {
    while (next < found.length && failures.length === 0) {
      const at = next++;
      const item = found[at];
      if (item === undefined) return;
      try {
        const { namespace, name } = splitKey(item.key);
        await deleteObject(store, { name, ...request, namespace });
      } catch (error) {
        if (error instanceof ApiError && error.code === 404) continue;
        failures.push({ at, error });
      }
    }
  };
  // Preconditions are expected to fail: no object behind the first failure may be deleted.
  const { uid, resourceVersion } = request.options.preconditions;
  const inOrder = request.inOrder === true || uid !== undefined || resourceVersion !== undefined;
  const workers = inOrder ? 1 : WORKERS;
  await Promise.all(Array.from({ length: Math.min(workers, found.length) }, work));
  // Report the first failure in list order, not in time.
  const [first] = failures.sort((a, b) => a.at - b.at);
  if (first !== undefined) throw asError(first.error);
}
