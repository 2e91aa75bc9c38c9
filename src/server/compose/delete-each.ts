import { ApiError } from '../../apimachinery/meta/errors.js';
import { hasDeletionTimestamp } from '../../apimachinery/meta/meta.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';

/** Deletes all objects of a type in a namespace ('' for all), up to 32 at a time. Objects that are already being deleted are skipped. */
export async function deleteEach(client: LoopbackClient, namespace: string): Promise<void> {
  const objects = (await client.list(namespace)).filter((object) => !hasDeletionTimestamp(object));
  let next = 0;
  const work = async (): Promise<void> => {
    for (let object = objects[next++]; object !== undefined; object = objects[next++]) {
      await client.delete(object.metadata.namespace ?? '', object.metadata.name ?? '').catch(ignoreNotFound);
    }
  };
  await Promise.all(Array.from({ length: 32 }, work));
}

function ignoreNotFound(error: unknown): void {
  if (!(error instanceof ApiError && error.code === 404)) throw error;
}
