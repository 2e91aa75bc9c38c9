import type { RequestContext } from '../request/context.js';
import type { CachedObject, Watcher, WatchReceiver, WhileAway } from '../storage/cacher/interfaces.js';
import type { MaybePromise } from '../util/maybe-promise.js';
import type {
  Getter,
  Lister,
  ListOptions,
  ListResult,
  WatchOptions,
  Watcher as Watched,
} from '../registry/rest/storage.js';
import { listObjects } from '../registry/generic/list.js';
import { getObject } from '../registry/generic/storage.js';
import type { ResourceStore } from '../registry/generic/store/resource-store.js';
import { watchObjects } from '../registry/generic/watch.js';

/** The verbs of a kind that can only be read, whose objects a cache has. */
export class ReadStorage implements Getter, Lister, Watched {
  constructor(private readonly store: ResourceStore) {}

  get(
    context: RequestContext,
    namespace: string,
    name: string,
    resourceVersion: string,
    whileAway?: WhileAway,
  ): MaybePromise<CachedObject> {
    return getObject(this.store, context, namespace, name, resourceVersion, whileAway);
  }

  list({ user, signal }: RequestContext, namespace: string, options: ListOptions): Promise<ListResult> {
    return listObjects(this.store, namespace, options, { flow: user.name, signal });
  }

  watch({ user }: RequestContext, namespace: string, options: WatchOptions, receiver: WatchReceiver): Promise<Watcher> {
    return watchObjects(this.store, namespace, options, receiver, { flow: user.name });
  }
}
