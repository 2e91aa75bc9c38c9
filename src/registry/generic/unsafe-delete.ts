import { newConflict, newNotFound } from '../../apimachinery/meta/errors.js';
import { decodeIfSound } from '../../storage/detached-object.js';
import type { ResourceStore } from './store/resource-store.js';

const DECODABLE = 'unsafe deletion is not allowed because the object is decodable from storage';

/**
 * Removes an object that cannot be decoded, without preconditions, admission or finalizers, which are unknown. Refuses an object that
 * is readable, which must be deleted the usual way. A dry run only tells whether the object would be removed.
 */
export async function deleteUndecodable(
  store: ResourceStore,
  namespace: string,
  name: string,
  dryRun: boolean,
): Promise<void> {
  const key = store.key(namespace, name);
  let current = await store.getLatest(key);
  for (;;) {
    if (current === undefined) throw newNotFound(store.groupResource, name);
    if (decodeIfSound(current) !== undefined) {
      const shown = `Key: ${store.displayKey(key)}, ResourceVersion: 0, AdditionalErrorMsg: ${DECODABLE}`;
      throw newConflict(store.groupResource, name, `StorageError: invalid object, Code: 4, ${shown}`);
    }
    if (dryRun) return;
    const result = await store.remove(key, current);
    if (result.outcome === 'committed') return;
    current = result.current;
  }
}
