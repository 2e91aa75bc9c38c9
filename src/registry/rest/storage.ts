import type { AdmissionChain } from '../../admission/interfaces.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { RequestContext } from '../../request/context.js';
import type {
  CachedList,
  CachedObject,
  ObjectPredicate,
  Ordering,
  Watcher as RunningWatch,
  WatchReceiver,
  WhileAway,
} from '../../storage/cacher/interfaces.js';
import type { StoreBackend, StoredObject } from '../../storage/interfaces.js';
import type { MaybePromise } from '../../util/maybe-promise.js';
import type { ServedSubresource } from './interfaces.js';

/*
 * What the verbs ask of a kind (apiserver, registry/rest). A kind implements the verbs that it has: the generic store all of them, a
 * computed kind perhaps none but Getter and Lister. All methods throw ApiError. A namespace is '' for cluster-scoped kinds, and in
 * lists and watches for all namespaces.
 */

export interface Getter<T = CachedObject> {
  /**
   * Returns an object in the state that `resourceVersion`, the parameter as written, asks for. Returns a promise only if there is
   * something to wait for. `whileAway`: what a get of the most recent state gets if the store does not answer; an error if undefined.
   * Throws 404.
   */
  get(
    context: RequestContext,
    namespace: string,
    name: string,
    resourceVersion: string,
    whileAway?: WhileAway,
  ): MaybePromise<T>;
}

/** The options of a list that select its objects and their state; validated as far as this is possible without the kind. */
export interface ListOptions {
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  /** 0 for no limit. */
  readonly limit: number;
  readonly continue: string;
  readonly predicate: ObjectPredicate;
  /** The order of the list if it is not that of the keys. */
  readonly order?: Ordering | undefined;
  /** True if the list tells how many selected objects follow, whatever it selects. */
  readonly exactCount?: boolean | undefined;
  /** What continue tokens of the list are bound to; undefined for lists that kube-apiserver could continue. */
  readonly bound?: { readonly to: string; readonly now: number } | undefined;
  /** What a list of the most recent state gets if the store does not answer; an error if undefined. */
  readonly whileAway?: WhileAway | undefined;
}

export interface ListResult {
  readonly list: CachedList;
  /** The revision that clients see, which watches start from. */
  readonly resourceVersion: number;
  /** Empty at the end of the list. */
  readonly continue: string;
  /** Undefined if the request selects objects or the list is complete. */
  readonly remainingItemCount: number | undefined;
  /** The shard that the list is restricted to. */
  readonly shard?: string | undefined;
}

export interface Lister {
  /** Lists in the state that the options ask for. */
  list(context: RequestContext, namespace: string, options: ListOptions): Promise<ListResult>;
}

export interface WatchOptions extends ListOptions {
  readonly allowWatchBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
  /** When the caller will end the watch, in monotonic milliseconds. */
  readonly deadline: number;
}

export interface Watcher {
  /**
   * Starts a watch. An error that clients receive as an event of the watch, such as a start that is too old, goes to
   * `receiver.ended`; all others are thrown.
   */
  watch(
    context: RequestContext,
    namespace: string,
    options: WatchOptions,
    receiver: WatchReceiver,
  ): Promise<RunningWatch>;
}

/** What every write consists of. A dry run is one of its context. */
interface Write {
  readonly context: RequestContext;
  readonly namespace: string;
  /** The admission that the write has to pass. */
  readonly admission: AdmissionChain;
}

interface ObjectWrite extends Write {
  /** Returns CreateOptions or UpdateOptions as admission sees them, depending on what the write turns out to be. */
  readonly optionsFor: (operation: 'CREATE' | 'UPDATE') => JsonObject;
}

export interface CreateRequest extends ObjectWrite {
  /** Decoded; the storage takes ownership of it. */
  readonly object: KubeObject;
  /** The manager that owns the fields of the object. */
  readonly manager: string;
}

/** The result of a write that leaves an object. */
export interface WriteResult {
  readonly object: KubeObject;
  /** The stored form; undefined for a dry run, if the object is not stored, or if the write removed it. `object` is then the response. */
  readonly stored: StoredObject | undefined;
}

export interface Creater {
  create(request: CreateRequest): Promise<WriteResult>;
}

/** A write of an object whose name is known. */
interface NamedWrite extends ObjectWrite {
  readonly name: string;
  /** The part of the object to write: the strategy and the field manager of the kind or of a subresource. */
  readonly part: ServedSubresource;
  /** Called before the write creates an object, which takes the right to create. Throws 403. */
  readonly authorizeCreate: () => Promise<void>;
  /** Called between the steps of a write that may take long; a promise gives other work a turn. */
  readonly turn?: (() => Promise<void> | undefined) | undefined;
}

export interface UpdateRequest extends NamedWrite {
  /** The new object, decoded; the storage takes ownership of it. Its UID, if it has one, is a precondition. */
  readonly object: KubeObject;
  readonly manager: string;
  /** Returns a copy of the object to write, if less than a deep copy does. May share parts with `current`. */
  readonly copy?: ((object: KubeObject, current: KubeObject | undefined) => KubeObject) | undefined;
}

export interface PatchRequest extends NamedWrite {
  /**
   * Returns the new object with its managed fields, which it makes from the current one. Must be rerunnable and must not modify
   * `current`. May throw ConversionPending.
   */
  readonly make: (current: KubeObject | undefined) => KubeObject;
  /** True for server-side apply, which creates objects, and never stores one without its managed fields. */
  readonly apply: boolean;
}

export interface UpdateResult extends WriteResult {
  readonly created: boolean;
}

export interface Updater {
  /** Replaces an object, or creates it where the kind allows that. */
  update(request: UpdateRequest): Promise<UpdateResult>;
}

export interface Patcher {
  /** Changes an object, or creates it by an apply. */
  patch(request: PatchRequest): Promise<UpdateResult>;
}

/** DeleteOptions of meta/v1 after validation. */
export interface DeleteOptions {
  readonly gracePeriodSeconds: number | undefined;
  readonly orphanDependents: boolean | undefined;
  readonly propagationPolicy: string | undefined;
  readonly preconditions: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined };
  /** True if the client sent preconditions, even empty ones. */
  readonly hasPreconditions?: boolean;
  readonly dryRun: boolean;
  /** Set only if the feature gate AllowUnsafeMalformedObjectDeletion allows it. */
  readonly ignoreStoreReadError: boolean;
}

export interface DeleteRequest extends Write {
  readonly name: string;
  readonly options: DeleteOptions;
}

export interface DeleteResult extends WriteResult {
  /** False if the object was only marked, and waits for finalizers or its grace period. */
  readonly removed: boolean;
}

interface GracefulDeleter {
  /** Deletes an object, or marks it for deletion. The result has its last state. */
  delete(request: DeleteRequest): Promise<DeleteResult>;
  /** Removes an object that cannot be decoded, without preconditions, admission or finalizers. Throws 409 if it is readable. */
  deleteUndecodable(context: RequestContext, namespace: string, name: string, dryRun: boolean): Promise<void>;
}

export interface DeleteCollectionRequest extends Write {
  readonly options: DeleteOptions;
}

/** The deleted objects as they were listed, for the response. */
export interface DeletedCollection {
  readonly items: readonly CachedObject[];
  readonly revision: number;
  /** The continue token, set if the request's own limit left objects undeleted. */
  readonly continue: string;
  readonly remainingItemCount: number | undefined;
}

interface CollectionDeleter {
  /**
   * Deletes the objects that a list selects: one after the other if admission may refuse a deletion, so that nothing behind a
   * refused one is deleted.
   */
  deleteCollection(request: DeleteCollectionRequest, selection: ListOptions): Promise<DeletedCollection>;
}

/** What offloading needs of a kind whose writes may run on a worker thread. */
export interface OffloadableWriter {
  /** Returns an object as far as it is known without waiting; it may be old. */
  peek(namespace: string, name: string): Pick<CachedObject, 'bytes'> | undefined;
  /** Reads and writes stored objects for a request whose pipeline runs on a worker. */
  backend(context: RequestContext): StoreBackend;
}

/** All verbs, which the generic store implements. */
export interface StandardStorage
  extends Getter, Lister, Watcher, Creater, Updater, Patcher, GracefulDeleter, CollectionDeleter, OffloadableWriter {}
