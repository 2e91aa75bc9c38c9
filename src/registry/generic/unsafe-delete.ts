import { newInvalid } from '../../apimachinery/meta/errors.js';
import { FieldPath, invalid } from '../../apimachinery/meta/field-error.js';
import { decodeIfSound } from '../../storage/detached-object.js';
import type { ResourceStore } from './store/resource-store.js';

const OPTION = 'ignoreStoreReadErrorWithClusterBreakingPotential';

/**
 * Removes an object that cannot be decoded, without preconditions, admission or finalizers, which are unknown. Refuses an object
 * that is readable or does not exist, which must be deleted the usual way.
 */
export async function deleteUndecodable(store: ResourceStore, namespace: string, name: string): Promise<void> {
  const key = store.key(namespace, name);
  let current = await store.getLatest(key);
  for (;;) {
    // As in kube-apiserver, an object that does not exist is not corrupt.
    if (current === undefined || decodeIfSound(current) !== undefined) {
      const kind = { group: store.groupResource.group, kind: store.groupResource.resource };
      const why = 'is exclusively used to delete corrupt object(s), try again by removing this option';
      throw newInvalid(kind, name, [invalid(FieldPath.of(OPTION), true, why)]);
    }
    const result = await store.remove(key, current);
    if (result.outcome === 'committed') return;
    current = result.current;
  }
}
