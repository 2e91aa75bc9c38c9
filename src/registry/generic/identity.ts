import { newBadRequest, newConflict } from '../../apimachinery/meta/errors.js';
import type { GroupResource, KubeObject, ObjectMeta } from '../../apimachinery/meta/meta.js';

/** Sets the object's namespace to the request's; throws a 400 if they differ. `expected` is '' for cluster-scoped types. */
export function ensureNamespace(expected: string, meta: ObjectMeta): void {
  const given = meta.namespace ?? '';
  if (given === expected) return;
  if (given === '') {
    meta.namespace = expected;
    return;
  }
  if (expected === '') {
    // Drop the namespace of a cluster-scoped object.
    delete meta.namespace;
    return;
  }
  throw newBadRequest('the namespace of the provided object does not match the namespace sent on the request');
}

/** Checks that the object's name matches the URL's. */
export function checkName(object: KubeObject, name: string): void {
  const given = object.metadata.name ?? '';
  if (given === '') {
    throw newBadRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  if (given !== name) {
    throw newBadRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
  }
}

/** Throws a conflict if a patch names the UID of an object that does not exist. */
export function checkUidExists(
  type: GroupResource,
  name: string,
  next: KubeObject,
  current: KubeObject | undefined,
): void {
  const uid = next.metadata.uid ?? '';
  if (uid === '' || current !== undefined) return;
  throw newConflict(
    type,
    name,
    `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
  );
}
