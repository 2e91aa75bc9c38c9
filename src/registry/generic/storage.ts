import type { RequestContext } from '../../request/context.js';
import type { CachedObject, Watcher, WatchReceiver, WhileAway, ReadAt } from '../../storage/cacher/interfaces.js';
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
import { listObjects } from './list.js';
import { authorOf } from './store/author.js';
import { instrumentStore } from './store/instrumented-store.js';
import type { ResourceStore, StoredType } from './store/resource-store.js';
import { watchObjects } from './watch.js';
import { create, patch, remove, removeListed, update } from './write.js';
import { newConflict, newNotFound } from '../../apimachinery/meta/errors.js';
import { decodeIfSound } from '../../storage/detached-object.js';
import { timed } from '../../util/metrics/stopwatch.js';
import { parseListResourceVersion, parseResourceVersion } from '../../storage/resource-version.js';

/**
 * Returns an object in the state that `resourceVersion` asks for. Returns a promise only if there is something to wait for: most
 * gets are served at once.
 */
export function getObject(
  store: ResourceStore,
  context: RequestContext,
  namespace: string,
  name: string,
  resourceVersion: string,
  whileAway?: WhileAway,
): MaybePromise<CachedObject> {
  const key = store.key(namespace, name);
  const read = readAt(resourceVersion, store.type);
  const at: ReadAt = read.mode === 'most-recent' && whileAway !== undefined ? { ...read, whileAway } : read;
  return store.getNow(key, at) ?? timed(context.stopwatch, 'etcd', () => store.get(key, name, at, resourceVersion));
}

/** Returns the state that a get must read (spec: List and get semantics). */
function readAt(resourceVersion: string, { uncached = false }: StoredType): ReadAt {
  if (resourceVersion === '') return { mode: 'most-recent' };
  // Without a watch cache, a get rejects invalid versions as a list does.
  const revision = uncached ? parseListResourceVersion(resourceVersion) : parseResourceVersion(resourceVersion);
  return revision === 0 ? { mode: 'any' } : { mode: 'not-older-than', revision, atOnce: uncached };
}

const DECODABLE = 'unsafe deletion is not allowed because the object is decodable from storage';

/**
 * Removes an object that cannot be decoded, without preconditions, admission or finalizers, which are unknown. Refuses an object that
 * is readable, which must be deleted the usual way. A dry run only tells whether the object would be removed.
 */
async function deleteUndecodable(
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
    const { watchesEnd } = this;
    const flow = context.user.name;
    return watchObjects(this.timed(context), namespace, options, receiver, { watchesEnd, flow });
  }

  create(request: CreateRequest): Promise<WriteResult> {
    return create(this.writing(request.context), this.served, request);
  }

  update(request: UpdateRequest): Promise<UpdateResult> {
    return update(this.writing(request.context), this.served, request);
  }

  patch(request: PatchRequest): Promise<UpdateResult> {
    return patch(this.writing(request.context), this.served, request);
  }

  delete(request: DeleteRequest): Promise<DeleteResult> {
    return remove(this.writing(request.context), this.served, request);
  }

  deleteUndecodable(context: RequestContext, namespace: string, name: string, dryRun: boolean): Promise<void> {
    return deleteUndecodable(this.writing(context), namespace, name, dryRun);
  }

  deleteCollection(request: DeleteCollectionRequest, selection: ListOptions): Promise<DeletedCollection> {
    return removeListed(this.writing(request.context), this.served, request, selection);
  }

  peek(namespace: string, name: string): CachedObject | undefined {
    const { cache, namespaced } = this.store;
    return cache.peek(namespaced ? `${namespace}/${name}` : name);
  }

  backend(context: RequestContext): StoreBackend {
    const { backend, cache } = this.timed(context);
    const author = authorOf(context);
    return {
      get: (resource, key) => backend.get(resource, key),
      write: (request) => backend.write({ ...request, previous: cache.peek(request.key), author }),
    };
  }

  private writing(context: RequestContext): ResourceStore {
    return this.timed(context).writtenBy(authorOf(context));
  }

  private timed(context: RequestContext): ResourceStore {
    return instrumentStore(this.store, context);
  }

  private get watchesEnd(): AbortSignal | undefined {
    return this.served.definition?.watchCancellation;
  }
}
