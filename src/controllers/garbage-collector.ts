import { ApiError } from '../apimachinery/errors.js';
import { deepCopy } from '../apimachinery/json.js';
import { hasDeletionTimestamp, type KubeObject, type OwnerReference, parseGroupVersion } from '../apimachinery/meta.js';
import { FINALIZER_FOREGROUND, FINALIZER_ORPHAN } from '../registry/generic/delete.js';
import { WATCH_ALL, watchToItsEnd } from '../registry/generic/watch-to-end.js';
import type { ApiRegistry, StoredApi } from '../registry/rest/api-registry.js';
import type { DeletionPolicy, TypeClient, TypeClients } from '../registry/rest/type-client.js';
import type { CachedObject, WatchEvent } from '../storage/cacher/interfaces.js';
import { type Clock, sleep } from '../util/clock.js';
import { WorkQueue } from '../util/work-queue.js';
import { type ObjectPlace, OwnerGraph } from './owner-graph.js';

export interface GarbageCollectorOptions {
  readonly registry: ApiRegistry;
  readonly clients: TypeClients;
  readonly clock: Clock;
  onError(what: string, error: unknown): void;
}

const HAS_OWNERS = Buffer.from('"ownerReferences":[');
const IS_DELETED = Buffer.from('"deletionTimestamp":"');
const RESTART_MILLIS = 1000;
const FROM_ANY = { ...WATCH_ALL, start: { mode: 'any' as const }, initialEventsBookmark: false };

/** How an owner stands, as seen by one of its dependents. */
type OwnerState = 'solid' | 'dangling' | 'waiting';

/**
 * Deletes objects whose owners are all gone, deletes the dependents of owners that are deleted in the foreground before them,
 * and sets the dependents of orphaning owners free. Objects without owners cost it a search in their bytes and no memory.
 */
export class GarbageCollector {
  private readonly graph = new OwnerGraph();
  private readonly watches = new Map<string, AbortController>();
  private readonly queue: WorkQueue;

  constructor(private readonly options: GarbageCollectorOptions) {
    this.queue = new WorkQueue({
      clock: options.clock,
      work: (key) => this.work(key),
      workers: 20,
      onError: (key, error) => {
        if (!(error instanceof ApiError && (error.code === 409 || error.code === 404))) options.onError(key, error);
      },
    });
  }

  start(signal: AbortSignal): void {
    const stop = this.options.registry.onChange(() => {
      this.follow(signal);
    });
    signal.addEventListener(
      'abort',
      () => {
        stop();
        for (const watch of this.watches.values()) watch.abort();
        void this.queue.stop();
      },
      { once: true },
    );
    this.follow(signal);
  }

  /** Watches the types that are served, each once. */
  private follow(signal: AbortSignal): void {
    if (signal.aborted) return;
    const apis = storedTypes(this.options.registry);
    for (const [resource, watch] of this.watches) {
      if (apis.has(resource)) continue;
      watch.abort();
      this.watches.delete(resource);
      this.graph.removeAll(resource);
    }
    for (const [resource] of apis) {
      if (this.watches.has(resource)) continue;
      const watch = new AbortController();
      this.watches.set(resource, watch);
      void this.watch(resource, watch.signal);
    }
  }

  private async watch(resource: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const api = storedTypes(this.options.registry).get(resource);
      if (api !== undefined)
        await watchToItsEnd(api.store.cache, FROM_ANY, signal, (event) => {
          this.see(api, event);
        }).catch(() => undefined);
      await sleep(this.options.clock, RESTART_MILLIS, signal);
    }
  }

  private see(api: StoredApi, event: WatchEvent): void {
    const { object } = event;
    if (object === undefined || object.undecodable) return;
    const place = { resource: api.store.resource, key: object.key };
    const bytes = Buffer.from(object.bytes.buffer, object.bytes.byteOffset, object.bytes.byteLength);
    const hasOwners = bytes.includes(HAS_OWNERS);
    if (event.type === 'DELETED') {
      this.graph.remove(place);
      // Nobody depends on anything, and this one did not either.
      if (this.graph.size > 0 || hasOwners) this.gone(object);
      return;
    }
    if (hasOwners) this.seeDependent(place, object);
    else if (this.graph.get(place) !== undefined) this.graph.remove(place);
    if (bytes.includes(IS_DELETED)) this.queue.add(`owner\0${place.resource}\0${place.key}`);
  }

  private seeDependent(place: ObjectPlace, object: CachedObject): void {
    const { metadata } = object.decode() as KubeObject;
    const owners = metadata.ownerReferences ?? [];
    if (owners.length === 0) {
      this.graph.remove(place);
      return;
    }
    this.graph.set({ ...place, uid: metadata.uid ?? '', owners });
    this.queue.add(`dependent\0${place.resource}\0${place.key}`);
  }

  private gone(object: CachedObject): void {
    const { metadata } = object.decode() as KubeObject;
    for (const dependent of this.graph.dependentsOf(metadata.uid ?? '')) {
      this.queue.add(`dependent\0${dependent.resource}\0${dependent.key}`);
    }
    // An owner that waited for this one may go now.
    for (const owner of metadata.ownerReferences ?? []) this.enqueueOwner(owner, metadata.namespace ?? '');
  }

  private enqueueOwner(owner: OwnerReference, namespace: string): void {
    const api = this.apiOf(owner);
    if (api === undefined) return;
    this.queue.add(`owner\0${api.store.resource}\0${api.store.key(namespace, owner.name ?? '')}`);
  }

  private async work(item: string): Promise<void> {
    const [what = '', resource = '', key = ''] = item.split('\0');
    const api = storedTypes(this.options.registry).get(resource);
    if (api === undefined) return;
    const slash = key.indexOf('/');
    const namespace = slash < 0 ? '' : key.slice(0, slash);
    const name = slash < 0 ? key : key.slice(slash + 1);
    const client = this.options.clients.for(api.served.groupResource);
    const object = await client.get(namespace, name);
    if (object === undefined) return;
    if (what === 'dependent') await this.collect(client, object);
    else await this.finishOwner(client, object);
  }

  /** Deletes a dependent whose owners are all gone or going, or drops the references to those that are. */
  private async collect(client: TypeClient, object: KubeObject): Promise<void> {
    const { metadata } = object;
    const namespace = metadata.namespace ?? '';
    const owners = metadata.ownerReferences ?? [];
    if (owners.length === 0 || (hasDeletionTimestamp(object) && !isForeground(object))) return;
    const states = await Promise.all(owners.map((owner) => this.stateOf(owner, namespace)));
    if (states.includes('solid')) {
      if (states.every((state) => state === 'solid')) return;
      const next = deepCopy(object);
      next.metadata.ownerReferences = owners.filter((_, i) => states[i] === 'solid');
      await client.update(next);
      return;
    }
    if (hasDeletionTimestamp(object)) return;
    const hasDependents = this.graph.dependentsOf(metadata.uid ?? '').length > 0;
    const policy = states.includes('waiting') && hasDependents ? 'Foreground' : ownPolicy(object);
    const preconditions = { uid: metadata.uid ?? '', resourceVersion: metadata.resourceVersion ?? '' };
    await client.delete(namespace, metadata.name ?? '', preconditions, policy);
  }

  private async stateOf(reference: OwnerReference, namespace: string): Promise<OwnerState> {
    const api = this.apiOf(reference);
    // A type that is not served may come back: its objects count as there.
    if (api === undefined) return 'solid';
    const { namespaced } = api.served.type;
    // An owner in no namespace cannot be looked up by a cluster-scoped dependent: it is never collected.
    if (namespaced && namespace === '') return 'solid';
    const client = this.options.clients.for(api.served.groupResource);
    const owner = await client.get(namespaced ? namespace : '', reference.name ?? '');
    if (owner === undefined || owner.metadata.uid !== reference.uid) return 'dangling';
    return isForegroundDeleted(owner) ? 'waiting' : 'solid';
  }

  /** An owner that is being deleted: its dependents are set free or deleted, then its finalizer goes. */
  private async finishOwner(client: TypeClient, owner: KubeObject): Promise<void> {
    if (!hasDeletionTimestamp(owner)) return;
    const finalizers = owner.metadata.finalizers ?? [];
    const dependents = this.graph.dependentsOf(owner.metadata.uid ?? '');
    if (finalizers.includes(FINALIZER_ORPHAN)) {
      for (const dependent of dependents) await this.orphan(dependent, owner.metadata.uid ?? '');
      await removeFinalizer(client, owner, FINALIZER_ORPHAN);
    } else if (finalizers.includes(FINALIZER_FOREGROUND)) {
      const uid = owner.metadata.uid ?? '';
      for (const { resource, key } of dependents) this.queue.add(`dependent\0${resource}\0${key}`);
      const blocking = dependents.filter(({ owners }) =>
        owners.some((reference) => reference.uid === uid && reference.blockOwnerDeletion === true),
      );
      if (blocking.length === 0) await removeFinalizer(client, owner, FINALIZER_FOREGROUND);
    }
  }

  private async orphan(place: ObjectPlace, ownerUid: string): Promise<void> {
    const api = storedTypes(this.options.registry).get(place.resource);
    if (api === undefined) return;
    const slash = place.key.indexOf('/');
    const client = this.options.clients.for(api.served.groupResource);
    const object = await client.get(slash < 0 ? '' : place.key.slice(0, slash), place.key.slice(slash + 1));
    const owners = object?.metadata.ownerReferences;
    if (object === undefined || owners === undefined) return;
    const kept = owners.filter((owner) => owner.uid !== ownerUid);
    if (kept.length === owners.length) return;
    const next = deepCopy(object);
    if (kept.length === 0) delete next.metadata.ownerReferences;
    else next.metadata.ownerReferences = kept;
    await client.update(next);
    this.graph.remove(place);
    if (kept.length > 0) this.graph.set({ ...place, uid: object.metadata.uid ?? '', owners: kept });
  }

  private apiOf(reference: OwnerReference): StoredApi | undefined {
    const gv = parseGroupVersion(reference.apiVersion ?? '');
    for (const api of this.options.registry.all()) {
      if (api.kind !== 'stored') continue;
      const { gvk } = api.served;
      if (gvk.group === gv?.group && gvk.version === gv.version && gvk.kind === reference.kind) return api;
    }
    return undefined;
  }
}

const isForeground = (object: KubeObject): boolean => (object.metadata.finalizers ?? []).includes(FINALIZER_FOREGROUND);

const isForegroundDeleted = (object: KubeObject): boolean => hasDeletionTimestamp(object) && isForeground(object);

/** How the object itself asks to be deleted, by the finalizers that it carries. */
function ownPolicy(object: KubeObject): DeletionPolicy {
  const finalizers = object.metadata.finalizers ?? [];
  if (finalizers.includes(FINALIZER_ORPHAN)) return 'Orphan';
  return finalizers.includes(FINALIZER_FOREGROUND) ? 'Foreground' : 'Background';
}

async function removeFinalizer(client: TypeClient, object: KubeObject, finalizer: string): Promise<void> {
  const next = deepCopy(object);
  const kept = (next.metadata.finalizers ?? []).filter((name) => name !== finalizer);
  if (kept.length === 0) delete next.metadata.finalizers;
  else next.metadata.finalizers = kept;
  await client.update(next);
}

/** Each stored type once, whatever the number of its versions. */
function storedTypes(registry: ApiRegistry): Map<string, StoredApi> {
  const types = new Map<string, StoredApi>();
  for (const api of registry.all()) {
    if (api.kind === 'stored' && api.served.verbs.includes('delete')) types.set(api.store.resource, api);
  }
  return types;
}
