import { ApiError } from '../apimachinery/meta/errors.js';
import { type KubeObject, nameOf, namespaceOf } from '../apimachinery/meta/meta.js';
import type { LoopbackClient } from '../registry/rest/loopback-client.js';

/** Creates the object if it is missing; reports whether it did. */
export async function createIfMissing(client: LoopbackClient, object: KubeObject): Promise<boolean> {
  if ((await client.get(namespaceOf(object), nameOf(object))) !== undefined) return false;
  try {
    await client.create(object);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError && error.reason === 'AlreadyExists')) throw error;
    return false;
  }
}
