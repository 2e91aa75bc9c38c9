import { asBuffer } from '../../util/bytes.js';
import { deepCopy } from '../../apimachinery/json/json.js';
import {
  hasDeletionTimestamp,
  type KubeObject,
  type OwnerReference,
  parseGroupVersion,
} from '../../apimachinery/meta/meta.js';
import { FINALIZER_DELETE_DEPENDENTS, FINALIZER_ORPHAN_DEPENDENTS } from '../../apimachinery/validation/object-meta.js';
import { splitKey } from '../../registry/generic/store/resource-store.js';
import { WATCH_ALL, watchUntilDone } from '../../registry/generic/loopback/watch-until-done.js';
import type { ApiRegistry, StoredApi } from '../../registry/generic/store/api-registry.js';
import type { DeletionPolicy, LoopbackClient, LoopbackClients } from '../../registry/rest/loopback-client.js';
import type { CachedObject, WatchEvent } from '../../storage/cacher/interfaces.js';
import type { Clock } from '../../util/clock.js';
import { WorkQueue } from '../../util/work-queue.js';
import { type Dependent, kindOf, type ObjectPlace, OwnerGraph } from './owner-graph.js';
import { exceptConflicts } from '../errors.js';
import { storedTypes, TypeWatches } from '../type-watches.js';

export interface GarbageCollectorOptions {
  readonly registry: ApiRegistry;
  readonly clients: LoopbackClients;
  readonly clock: Clock;
  readonly onError: (what: string, error: unknown) => void;
}

const HAS_OWNERS = Buffer.from('"ownerReferences":[');
const IS_DELETED = Buffer.from('"deletionTimestamp":"');
const FROM_ANY = { ...WATCH_ALL, start: { mode: 'any' as const }, initialEventsBookmark: false };

/** The state of an owner as seen by one of its dependents. Unknown: its type is not served, or it cannot own such a dependent. */
type OwnerState = 'solid' | 'dangling' | 'waiting' | 'unknown';

/**
 * Deletes objects whose owners are all gone, deletes dependents before owners that are deleted in the foreground, and orphans the
 * dependents of owners that ask for it. An object without owners costs only a search in its bytes, and no memory.
 */
export class GarbageCollector {
  private readonly graph = new OwnerGraph();
  private readonly watches: TypeWatches;
  /** The served kinds, as formatted by `kindOf`. */
  private kinds: ReadonlySet<string> = new Set();
  private readonly queue: WorkQueue;

  constructor(private readonly options: GarbageCollectorOptions) {
    this.watches = new TypeWatches(options.clock, (resource, signal) => this.watch(resource, signal));
    this.queue = new WorkQueue({
      name: 'garbage_collector_attempt_to_delete',
      clock: options.clock,
      reconcile: (key) => this.work(key),
      workers: 20,
      onError: exceptConflicts(options.onError),
    });
  }

  start(signal: AbortSignal): void {
    this.watches.run(this.options.registry, this.queue, signal, () => this.follow(signal));
    this.follow(signal);
  }

  /** Watches each served type once. */
  private follow(signal: AbortSignal): void {
    if (signal.aborted) return;
    for (const gone of this.watches.follow(storedTypes(this.options.registry))) this.graph.removeAll(gone);
    this.followKinds();
  }

  /** Requeues the dependents of owners whose kind was not served until now. */
  private followKinds(): void {
    const before = this.kinds;
    const now = new Set<string>();
    for (const api of this.options.registry.all()) {
      if (api.kind !== 'stored') continue;
      now.add(kindOf({ apiVersion: api.served.groupVersion, kind: api.served.gvk.kind }));
    }
    this.kinds = now;
    for (const kind of now) {
      if (!before.has(kind))
        for (const dependent of this.graph.dependentsOfKind(kind)) this.enqueueDependent(dependent);
    }
  }

  private async watch(resource: string, signal: AbortSignal): Promise<void> {
    const api = storedTypes(this.options.registry).get(resource);
    if (api === undefined) return;
    await watchUntilDone(api.store.cache, FROM_ANY, signal, (event) => this.handleEvent(api, event));
  }

  private handleEvent(api: StoredApi, event: WatchEvent): void {
    const { object } = event;
    if (object === undefined || object.undecodable) return;
    const place = { resource: api.store.resource, key: object.key };
    const bytes = asBuffer(object.bytes);
    const hasOwners = bytes.includes(HAS_OWNERS);
    if (event.type === 'DELETED') {
      this.graph.remove(place);
      // Skipped if no object has owners and this one had none.
      if (this.graph.size > 0 || hasOwners) this.handleDeleted(object);
      return;
    }
    const before = this.graph.get(place);
    if (hasOwners) this.seeDependent(place, object);
    else if (before !== undefined) this.graph.remove(place);
    if (before !== undefined) this.seeUnblocked(before);
    if (bytes.includes(IS_DELETED)) this.queue.add(`owner\0${place.resource}\0${place.key}`);
  }

  private seeDependent(place: ObjectPlace, object: CachedObject): void {
    const decoded = object.decode() as KubeObject;
    const owners = decoded.metadata.ownerReferences ?? [];
    if (owners.length === 0) {
      this.graph.remove(place);
      return;
    }
    this.graph.set({
      ...place,
      uid: decoded.metadata.uid ?? '',
      owners,
      deletingDependents: isForegroundDeleted(decoded),
    });
    this.enqueueDependent(place);
  }

  /** Requeues owners that may have been waiting for an object that no longer blocks them. */
  private seeUnblocked(before: Dependent): void {
    const owners = this.graph.get(before)?.owners ?? [];
    const blocks = (uid: string | undefined): boolean => owners.some((owner) => owner.uid === uid && isBlocking(owner));
    for (const owner of before.owners) {
      if (isBlocking(owner) && !blocks(owner.uid)) this.enqueueOwner(owner, splitKey(before.key).namespace);
    }
  }

  private handleDeleted(object: CachedObject): void {
    const { metadata } = object.decode() as KubeObject;
    for (const dependent of this.graph.dependentsOf(metadata.uid ?? '')) this.enqueueDependent(dependent);
    // An owner that waited for this object may be deleted now.
    for (const owner of metadata.ownerReferences ?? []) this.enqueueOwner(owner, metadata.namespace ?? '');
  }

  private enqueueDependent({ resource, key }: ObjectPlace): void {
    this.queue.add(`dependent\0${resource}\0${key}`);
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
    const { namespace, name } = splitKey(key);
    const client = this.options.clients.for(api.served.groupResource);
    const object = await client.get(namespace, name);
    if (object === undefined) return;
    if (what === 'dependent') await this.collect(client, object);
    else await this.finishOwner(client, object);
  }

  /** Deletes a dependent whose owners are all gone or being deleted, or drops the references to those owners. */
  private async collect(client: LoopbackClient, object: KubeObject): Promise<void> {
    const { metadata } = object;
    const namespace = metadata.namespace ?? '';
    const owners = metadata.ownerReferences ?? [];
    if (owners.length === 0 || hasDeletionTimestamp(object)) return;
    const states = await Promise.all(owners.map((owner) => this.stateOf(owner, namespace)));
    if (states.includes('unknown')) return;
    if (states.includes('solid')) {
      if (states.every((state) => state === 'solid')) return;
      const next = deepCopy(object);
      next.metadata.ownerReferences = owners.filter((_, i) => states[i] === 'solid');
      await client.update(next);
      return;
    }
    const dependents = this.graph.dependentsOf(metadata.uid ?? '');
    const foreground = states.includes('waiting') && dependents.length > 0;
    // A dependent that waits as well may form a cycle, which is broken here.
    const latest =
      foreground && dependents.some(({ deletingDependents }) => deletingDependents)
        ? await unblockOwnerReferences(client, object)
        : object;
    const preconditions = { uid: metadata.uid ?? '', resourceVersion: latest.metadata.resourceVersion ?? '' };
    await client.delete(namespace, metadata.name ?? '', preconditions, foreground ? 'Foreground' : ownPolicy(object));
  }

  private async stateOf(reference: OwnerReference, namespace: string): Promise<OwnerState> {
    const api = this.apiOf(reference);
    // A type that is not served may be served later, or again.
    if (api === undefined) return 'unknown';
    const { namespaced } = api.served.type;
    // A cluster-scoped dependent does not give the namespace of its owner, so the owner cannot be looked up: it is never collected.
    if (namespaced && namespace === '') return 'unknown';
    const client = this.options.clients.for(api.served.groupResource);
    const owner = await client.get(namespaced ? namespace : '', reference.name ?? '');
    if (owner === undefined || owner.metadata.uid !== reference.uid) return 'dangling';
    return isForegroundDeleted(owner) ? 'waiting' : 'solid';
  }

  /** Processes an owner that is being deleted: orphans or deletes its dependents, then removes its finalizer. */
  private async finishOwner(client: LoopbackClient, owner: KubeObject): Promise<void> {
    if (!hasDeletionTimestamp(owner)) return;
    const finalizers = owner.metadata.finalizers ?? [];
    const dependents = this.graph.dependentsOf(owner.metadata.uid ?? '');
    if (finalizers.includes(FINALIZER_ORPHAN_DEPENDENTS)) {
      for (const dependent of dependents) await this.orphan(dependent, owner.metadata.uid ?? '');
      await removeFinalizer(client, owner, FINALIZER_ORPHAN_DEPENDENTS);
    } else if (finalizers.includes(FINALIZER_DELETE_DEPENDENTS)) {
      const uid = owner.metadata.uid ?? '';
      for (const dependent of dependents) this.enqueueDependent(dependent);
      const isBlocked = dependents.some(({ owners }) => owners.some((owner) => owner.uid === uid && isBlocking(owner)));
      if (!isBlocked) await removeFinalizer(client, owner, FINALIZER_DELETE_DEPENDENTS);
    }
  }

  private async orphan(place: ObjectPlace, ownerUid: string): Promise<void> {
    const api = storedTypes(this.options.registry).get(place.resource);
    if (api === undefined) return;
    const client = this.options.clients.for(api.served.groupResource);
    const { namespace, name } = splitKey(place.key);
    const object = await client.get(namespace, name);
    const owners = object?.metadata.ownerReferences;
    if (object === undefined || owners === undefined) return;
    const kept = owners.filter((owner) => owner.uid !== ownerUid);
    if (kept.length === owners.length) return;
    const next = deepCopy(object);
    if (kept.length === 0) delete next.metadata.ownerReferences;
    else next.metadata.ownerReferences = kept;
    await client.update(next);
    this.graph.remove(place);
    if (kept.length === 0) return;
    this.graph.set({
      ...place,
      uid: object.metadata.uid ?? '',
      owners: kept,
      deletingDependents: isForegroundDeleted(object),
    });
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

const isForegroundDeleted = (object: KubeObject): boolean =>
  hasDeletionTimestamp(object) && (object.metadata.finalizers ?? []).includes(FINALIZER_DELETE_DEPENDENTS);

/** Reports whether an owner that is deleted in the foreground waits for the object with this reference. */
const isBlocking = (owner: OwnerReference): boolean => owner.blockOwnerDeletion === true;

/** Returns the deletion policy that the object's own finalizers ask for. */
function ownPolicy(object: KubeObject): DeletionPolicy {
  const finalizers = object.metadata.finalizers ?? [];
  if (finalizers.includes(FINALIZER_ORPHAN_DEPENDENTS)) return 'Orphan';
  return finalizers.includes(FINALIZER_DELETE_DEPENDENTS) ? 'Foreground' : 'Background';
}

/** Updates the object so that none of its owners waits for it any longer. */
async function unblockOwnerReferences(client: LoopbackClient, object: KubeObject): Promise<KubeObject> {
  const owners = object.metadata.ownerReferences ?? [];
  if (!owners.some(isBlocking)) return object;
  const next = deepCopy(object);
  next.metadata.ownerReferences = owners.map((owner) =>
    isBlocking(owner) ? { ...owner, blockOwnerDeletion: false } : owner,
  );
  return client.update(next);
}

async function removeFinalizer(client: LoopbackClient, object: KubeObject, finalizer: string): Promise<void> {
  const next = deepCopy(object);
  const kept = (next.metadata.finalizers ?? []).filter((name) => name !== finalizer);
  if (kept.length === 0) delete next.metadata.finalizers;
  else next.metadata.finalizers = kept;
  await client.update(next);
}
