import type { RequestContext } from '../../request/context.js';
import type { CachedObject, Watcher, WatchReceiver, WhileAway } from '../../storage/cacher/interfaces.js';
import type { StoreBackend } from '../../storage/interfaces.js';
import type { MaybePromise } from '../../util/maybe-promise.js';
import type { ServedVersion } from '../rest/served.js';
import type {
  CreateRequest,
  DeleteCollectionRequest,
  DeletedCollection,
  DeleteRequest,
  DeleteResult,
  ListOptions,
  ListResult,
  PatchRequest,
  StandardStorage,
  UpdateRequest,
  UpdateResult,
  WatchOptions,
  WriteResult,
} from '../rest/storage.js';
import { getObject } from './get.js';
import { listObjects } from './list.js';
import { instrumentStore } from './store/instrumented-store.js';
import type { ResourceStore } from './store/resource-store.js';
import { deleteUndecodable } from './unsafe-delete.js';
import { watchObjects } from './watch.js';
import { create, patch, remove, removeListed, update } from './write.js';

/** The verbs of one version of a stored type (apiserver, genericregistry.Store). */
export class GenericStorage implements StandardStorage {
  constructor(
    private readonly served: ServedVersion,
    private readonly store: ResourceStore,
  ) {}

  get(
    context: RequestContext,
    namespace: string,
    name: string,
    resourceVersion: string,
    whileAway?: WhileAway,
  ): MaybePromise<CachedObject> {
    // Plain gets, which are served from memory, do without a stopwatch: getObject times those that wait.
    const isPlain = context.audit === undefined && context.span === undefined;
    return getObject(isPlain ? this.store : this.timed(context), context, namespace, name, resourceVersion, whileAway);
  }

  list(context: RequestContext, namespace: string, options: ListOptions): Promise<ListResult> {
    // The signal is expensive to make: only what may take long needs it.
    const isLong = options.predicate.condition !== undefined || options.order !== undefined;
    const signal = isLong ? context.signal : undefined;
    const { watchesEnd } = this;
    return listObjects(this.timed(context), namespace, options, { watchesEnd, flow: context.user.name, signal });
  }

  watch(context: RequestContext, namespace: string, options: WatchOptions, receiver: WatchReceiver): Promise<Watcher> {
    return watchObjects(this.timed(context), namespace, options, receiver, this.watchesEnd);
  }

  create(request: CreateRequest): Promise<WriteResult> {
    return create(this.timed(request.context), this.served, request);
  }

  update(request: UpdateRequest): Promise<UpdateResult> {
    return update(this.timed(request.context), this.served, request);
  }

  patch(request: PatchRequest): Promise<UpdateResult> {
    return patch(this.timed(request.context), this.served, request);
  }

  delete(request: DeleteRequest): Promise<DeleteResult> {
    return remove(this.timed(request.context), this.served, request);
  }

  deleteUndecodable(context: RequestContext, namespace: string, name: string, dryRun: boolean): Promise<void> {
    return deleteUndecodable(this.timed(context), namespace, name, dryRun);
  }

  deleteCollection(request: DeleteCollectionRequest, selection: ListOptions): Promise<DeletedCollection> {
    return removeListed(this.timed(request.context), this.served, request, selection);
  }

  peek(namespace: string, name: string): CachedObject | undefined {
    const { cache, namespaced } = this.store;
    return cache.peek(namespaced ? `${namespace}/${name}` : name);
  }

  backend(context: RequestContext): StoreBackend {
    const { backend, cache } = this.timed(context);
    return {
      get: (resource, key) => backend.get(resource, key),
      write: (request) => backend.write({ ...request, previous: cache.peek(request.key) }),
    };
  }

  private timed(context: RequestContext): ResourceStore {
    return instrumentStore(this.store, context);
  }

  private get watchesEnd(): AbortSignal | undefined {
    return this.served.definition?.watchCancellation;
  }
}
