import type { JsonObject } from '../../apimachinery/json/json.js';
import type { Attributes, Health, Revision, StoredObject } from '../interfaces.js';
import type { Stopwatch } from '../../util/metrics/stopwatch.js';
import type { SelectionPredicate } from '../../apimachinery/selectors/selection-predicate.js';

export type { Attributes } from '../interfaces.js';

/** An object in the cache: immutable bytes, attributes, and representations rendered on first use. */
export interface CachedObject extends StoredObject {
  readonly attributes: Attributes;
  /** True if the bytes are not a JSON object. Lists that include the object fail with StorageError 'corrupt'. */
  readonly undecodable: boolean;
  /** True if the type adds data to the object on every read, so that even an identity representation must be rendered. */
  readonly incomplete: boolean;
  /** Decodes the bytes (a new object on every call, including the resourceVersion); throws StorageError 'corrupt'. */
  decode(): JsonObject;
  /** Calls `read` with the bytes, which are valid only until it returns. Present if this avoids a copy of them. */
  withBytes?<T>(read: (bytes: Uint8Array) => T): T;
  /** Returns the bytes of a representation, which are kept under its id while the cache budget lasts. */
  render(representation: Representation): Uint8Array;
}

/**
 * A way to render objects: JSON of a version, a list item, a Table row, metadata only, protobuf … Equal ids must give equal bytes for the
 * same object. `render` must not keep the object.
 */
export interface Representation {
  readonly id: string;
  /**
   * Complete objects whose last write is at or below this revision are represented by their stored bytes, so that nothing is rendered or
   * kept twice. Infinity: all objects; absent: none.
   */
  readonly identityUpTo?: Revision;
  /** Reports whether `render` only returns existing bytes. */
  isMade?(object: CachedObject): boolean;
  render(object: CachedObject): Uint8Array;
  /** The separator between items of a list: `,` for JSON, empty for protobuf. */
  readonly separator: string;
}

/** The framing of a watch event in a stream, e.g. `{"type":"ADDED","object":…}\n`. Encoded once per event and frame. */
export interface EventFrame {
  readonly id: string;
  encode(event: WatchEvent): Uint8Array;
  /** Encodes the event in parts, if that avoids joining them. */
  parts?(event: WatchEvent): readonly Uint8Array[];
}

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';

export interface WatchEvent {
  readonly type: WatchEventType;
  /** The revision of the event. A BOOKMARK means that every event up to its revision has been sent. */
  readonly revision: Revision;
  /**
   * Undefined for a BOOKMARK. For DELETED (also when an object leaves the selection) the previous state, with the event's revision as
   * resourceVersion.
   */
  readonly object: CachedObject | undefined;
  /** For MODIFIED: returns the previous state as a DELETED event of this revision would show it. */
  previousDeleted?(): CachedObject | undefined;
  /** True for the BOOKMARK that ends the initial events. */
  readonly initialEventsEnd: boolean;
  /** True for an initial event: only one watcher receives it, so its framed bytes need not be kept. */
  readonly single?: boolean;
  /** Returns the framed bytes, made once per frame id whatever the number of watchers. */
  encoded(frame: EventFrame): Uint8Array;
  /** Returns the kept result of `encoded` for a frame id, or undefined if none is kept. */
  kept?(frameId: string): Uint8Array | undefined;
}

/**
 * Selects the objects of a list or watch. The selectors of a request need only labels and fields; `withCondition` adds a condition on
 * the object itself.
 */
export interface ObjectPredicate extends Omit<SelectionPredicate, 'matches'> {
  /** `labels` and `fields` are those that the request's version shows, which need not be `object.attributes`. */
  matches(labels: Attributes['labels'], fields: Attributes['fields'], object: CachedObject): boolean;
  /** The condition that the predicate adds to others, so that they can be examined apart. Absent if it has none. */
  readonly condition?: { readonly selectors: ObjectPredicate; readonly of: Condition };
}

/** A condition on the objects of a list or watch beyond its selectors. */
export interface Condition {
  /**
   * Reports whether the request gets an object, which can be decoded and which its selectors match; undefined if that cannot be told,
   * in which case it does not. Must depend on the object alone: a watch also asks about objects that have been changed since. Throws
   * only StorageError, if the object cannot be read.
   */
  matches(object: CachedObject): boolean | undefined;
  /** Equal ids mean equal conditions, whose results are then shared; undefined if the condition is not worth it. */
  readonly id: string | undefined;
}

/** An order of the objects of a list other than by key. */
export interface Ordering {
  /** Equal ids mean equal orders, whose keys are then shared; undefined if the keys are not worth it. */
  readonly id: string | undefined;
  /** Returns bytes that are in the order of the objects. Objects with equal ones are in the order of namespace and name. */
  keyOf(object: CachedObject): Uint8Array;
}

/** The objects on which a condition failed, among those that were looked at for a page. */
export interface Failures {
  readonly count: number;
  readonly first: CachedObject;
}

export interface CacheListOptions {
  readonly prefix: string;
  /** The first key to return (inclusive); '' to start at the prefix. */
  readonly from: string;
  readonly limit: number;
  readonly predicate: ObjectPredicate;
  /** True if keys consist of a name only. */
  readonly clusterScoped?: boolean;
  /** If given, `from` is the key of the last object before the page. */
  readonly order?: Ordering | undefined;
  /** True if the page tells how many selected items follow, whatever the predicate. */
  readonly exactCount?: boolean | undefined;
  /** The user that the list is for. Users take turns at what takes long. */
  readonly flow?: string | undefined;
  /** Ends the search for objects: nobody waits for the list any more. */
  readonly signal?: AbortSignal | undefined;
}

/** The state that a read requires (spec: List and get semantics). */
export type ReadAt =
  // `atOnce`: a revision that does not exist yet is rejected without waiting for it.
  | ReadAtPresent
  /** Exactly this revision, from a snapshot or else from the backend's history; otherwise StorageError 'compacted'. */
  | { readonly mode: 'exact'; readonly revision: Revision; readonly atOnce?: boolean };

/**
 * What a read that requires the most recent state gets while the store does not answer: the newest known state, or that only if it has no
 * object where the read looks. By default it gets an error.
 */
export type WhileAway = 'newest-known' | 'if-empty';

/** The newest state, if it meets a requirement. */
export type ReadAtPresent =
  | { readonly mode: 'any' }
  /** A state that includes every write acknowledged before the call; or what `whileAway` allows if the store does not answer. */
  | { readonly mode: 'most-recent'; readonly whileAway?: WhileAway | undefined }
  | { readonly mode: 'not-older-than'; readonly revision: Revision; readonly atOnce?: boolean };

/** A page of a list at one revision. Lazy: nothing is copied until it is iterated. */
export interface CachedList {
  readonly revision: Revision;
  /** The number of items on this page. */
  readonly length: number;
  /** The key of the last item on the page if more items may follow, else undefined. */
  readonly lastKey: string | undefined;
  /** The number of items after this page; undefined if a predicate makes it unknown. 0 if the list is complete. */
  readonly remaining: number | undefined;
  /** Absent if no condition failed. */
  readonly failures?: Failures | undefined;
  items(): Iterable<CachedObject>;
  /**
   * Returns the items' bytes in a representation, joined by its separator, in chunks that are cached and must not be changed. There is no
   * separator before the first or after the last item.
   */
  chunks(representation: Representation): Iterable<Uint8Array>;
  /** Returns the same bytes as gzip members, each cached. Between members of the caller, their concatenation is a valid gzip stream. */
  gzipChunks(representation: Representation): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

export interface CacheWatchOptions {
  readonly prefix: string;
  /** The key of a single object; then prefix is that of its namespace. */
  readonly key?: string | undefined;
  readonly predicate: ObjectPredicate;
  /** The state to start from. 'exact': only events after the revision. The others begin with synthetic ADDED events. */
  readonly start: ReadAt;
  /** Sends a BOOKMARK with `initialEventsEnd` after the synthetic events. */
  readonly initialEventsBookmark: boolean;
  /** Delivers objects that cannot be decoded, which end a watch otherwise. */
  readonly showsUndecodable?: boolean;
  /** The user that the watch is for. Users take turns at what takes long. */
  readonly flow?: string | undefined;
  /** Sends a BOOKMARK about every minute, and shortly before the deadline. */
  readonly bookmarks: boolean;
  /** When the caller will end the watch, in monotonic milliseconds; for the last bookmark. */
  readonly deadline: number;
}

/**
 * A running watch. `receive` is called synchronously with events in order, never concurrently. It returns false when the transport is full.
 * Events are then held back, up to a limit, until `resume`; beyond the limit the watcher is ended.
 */
export interface Watcher {
  resume(): void;
  /** Ends the watch without calling `ended`; idempotent. */
  stop(): void;
  /** Delivers what is due, and returns a revision up to which everything has been delivered. Absent if that cannot be told. */
  delivered?(): Revision;
}

export interface WatchReceiver {
  receive(events: readonly WatchEvent[]): boolean;
  /** Called when the cacher ends the watch: `slow` (it could not keep up), `closed` (shutdown, type removed), or an error. */
  ended(reason: 'slow' | 'closed' | Error): void;
}

/**
 * The cache of one resource type. Reads wait for the state they require: for the type to load, and for a limited time for a revision.
 *
 * A state that is shown under a revision always includes every change up to it. This holds for lists, initial events, bookmarks, and
 * `revision` itself. Whatever was lost, delayed or reloaded in the meantime, a reader gets a state that was checked in the same step in
 * which it was taken, or an error (docs/design/watch-cache.md).
 */
export interface ResourceCache {
  readonly resource: string;
  /** The identity of the log whose revisions the cache shows; undefined if logs have no identity. */
  readonly logId?: string | undefined;
  get(key: string, at: ReadAt): Promise<CachedObject | undefined>;
  /** Returns the result of `get` if it is available without waiting, else undefined. Absent if it never is. */
  getNow?(key: string, at: ReadAt): CachedObject | undefined;
  /**
   * Like `get` without waiting: the object may be old, or missing if the cache is not ready. For the write path, where the store compares
   * revisions.
   */
  peek(key: string): CachedObject | undefined;
  /** Resolves once the type's objects have been loaded. */
  ready(): Promise<void>;
  /** Returns all objects under a prefix in the current state of the cache, without waiting. */
  peekAll(prefix: string): Iterable<CachedObject>;
  list(at: ReadAt, options: CacheListOptions): Promise<CachedList>;
  /** Starts a watch. Throws StorageError 'compacted' if the start is too old, 'too-large' if its revision does not exist in time. */
  watch(options: CacheWatchOptions, receiver: WatchReceiver): Promise<Watcher>;
  /** Returns the newest revision (of the whole log) that the cache has seen. */
  revision(): Revision;
  /** Returns the number of objects. */
  size(): number;
  /**
   * Calls the listener synchronously after every change that `peek` and `peekAll` show, until the returned function is called. Absent if
   * the cache wraps another one.
   */
  onChange?(listener: () => void): () => void;
  /** Returns the same cache with its reads timed by a stopwatch, for caches that do more than read. Absent if the cache only reads. */
  under?(watch: Stopwatch): ResourceCache;
}

/** The state of a type's cache, for metrics. */
export interface TypeStats {
  readonly resource: string;
  /** The newest revision that the cache has seen. */
  readonly revision: Revision;
  readonly objects: number;
  /** Returns the number of objects that are not packed; walks all leaves. */
  readonly inMemory: () => number;
  readonly watchers: number;
  /** The number of objects that cannot be decoded. */
  readonly undecodable: number;
}

/** Describes a type and its objects to the cache. */
export interface CachedType {
  readonly resource: string;
  attributes(object: JsonObject): Attributes;
}

/** All caches of a process over one backend, fed by one event stream. */
export interface Cacher {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Returns the cache of a type, loaded on first use. Adding a type again with another `attributes` recomputes the selector attributes. */
  add(type: CachedType): ResourceCache;
  /** Removes a type and ends its watchers. */
  remove(resource: string): void;
  /** Reloads a type and ends its watchers: objects that could not be read before may be readable now. */
  reload(resource: string): void;
  /** Reports false, with a reason, while the cache does not follow the log (for readyz). */
  healthy(): Health;
}
