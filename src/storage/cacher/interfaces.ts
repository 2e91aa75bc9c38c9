import type { JsonObject } from '../../apimachinery/json/json.js';
import type { Attributes, Revision, StoredObject } from '../interfaces.js';
import type { Stopwatch } from '../../util/metrics/stopwatch.js';
import type { SelectionPredicate } from '../selection-predicate.js';

export type { Attributes } from '../interfaces.js';

/** An object in the cache: immutable bytes, attributes, and representations made on first use. */
export interface CachedObject extends StoredObject {
  readonly attributes: Attributes;
  /** The bytes are no JSON object. Lists that show it fail with StorageError 'corrupt'. */
  readonly undecodable?: boolean | undefined;
  /** Its type adds to it whenever it is shown: an identity representation has to be rendered, too. */
  readonly incomplete?: boolean | undefined;
  /** Decodes the bytes (a fresh copy at every call, resourceVersion included); throws StorageError 'corrupt'. */
  decode(): JsonObject;
  /** The bytes of a representation, kept under its id while the cache budget lasts. */
  render(representation: Representation): Uint8Array;
}

/**
 * One way to show objects: JSON of a version, a list item, a Table row, metadata only, protobuf … Equal ids must give equal
 * bytes for the same object. `render` must not keep the object.
 */
export interface Representation {
  readonly id: string;
  /** The stored bytes as they are, of all objects that are complete: nothing is rendered or kept twice. */
  readonly identity?: boolean;
  /** Whether `render` only hands out what is there. */
  isMade?(object: CachedObject): boolean;
  render(object: CachedObject): Uint8Array;
  /** Between items of a list: `,` for JSON, empty for protobuf. */
  readonly separator: string;
}

/** How a watch event is framed in a stream, e.g. `{"type":"ADDED","object":…}\n`. Encoded once per event and frame. */
export interface EventFrame {
  readonly id: string;
  encode(event: WatchEvent): Uint8Array;
  /** The same in parts, where that saves joining them. */
  parts?(event: WatchEvent): readonly Uint8Array[];
}

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';

export interface WatchEvent {
  readonly type: WatchEventType;
  /** The event's revision; for a BOOKMARK, everything up to it has been sent. */
  readonly revision: Revision;
  /**
   * Undefined for a BOOKMARK. For DELETED (also when an object leaves the selection) the state before, with the event's
   * revision as resourceVersion.
   */
  readonly object: CachedObject | undefined;
  /** Of a MODIFIED: the state before, as a DELETED of this event's revision would show it. */
  previousDeleted?(): CachedObject | undefined;
  /** A BOOKMARK that ends the initial events. */
  readonly initialEventsEnd: boolean;
  /** Only one watcher gets it, so that its framed bytes need not be kept: one of the initial events. */
  readonly single?: boolean;
  /** The framed bytes, made once per frame id whatever the number of watchers. */
  encoded(frame: EventFrame): Uint8Array;
  /** What `encoded` gives for a frame of that id, if that is kept. */
  kept?(frameId: string): Uint8Array | undefined;
}

export interface CacheListOptions {
  readonly prefix: string;
  /** First key wanted (inclusive); '' to begin at the prefix. */
  readonly from: string;
  readonly limit: number;
  readonly predicate: SelectionPredicate;
  /** Keys are names alone. */
  readonly clusterScoped?: boolean;
}

/** Which state a read wants (spec: List and get semantics). */
export type ReadAt =
  // `atOnce`: a revision that does not exist yet is refused without waiting for it.
  | { readonly mode: 'any' }
  /** Every write acknowledged before the call is seen. */
  | { readonly mode: 'most-recent' }
  | { readonly mode: 'not-older-than'; readonly revision: Revision; readonly atOnce?: boolean }
  /** Exactly this revision: from a snapshot, else from the backend's history, else StorageError 'compacted'. */
  | { readonly mode: 'exact'; readonly revision: Revision; readonly atOnce?: boolean };

/** A page of a list at one revision. Lazy: nothing is copied until it is iterated. */
export interface CachedList {
  readonly revision: Revision;
  /** Number of items on this page. */
  readonly length: number;
  /** Key of the last item of the page when more items may follow, else undefined. */
  readonly lastKey: string | undefined;
  /** Items after this page; undefined where a predicate makes it unknown. 0 when the list is complete. */
  readonly remaining: number | undefined;
  items(): Iterable<CachedObject>;
  /**
   * The items' bytes in a representation, joined by its separator, in chunks that are cached and must not be changed. No
   * separator stands before the first or after the last item.
   */
  chunks(representation: Representation): Iterable<Uint8Array>;
  /** The same as gzip members, each cached: their concatenation, framed by members of the caller's own, is a valid gzip stream. */
  gzipChunks(representation: Representation): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

export interface CacheWatchOptions {
  readonly prefix: string;
  /** A single object's key; then prefix is that of its namespace. */
  readonly key?: string | undefined;
  readonly predicate: SelectionPredicate;
  /** Where to start. 'exact': only events after the revision, no synthetic ones. The others begin with synthetic ADDED events. */
  readonly start: ReadAt;
  /** After the synthetic events, a BOOKMARK with `initialEventsEnd`. */
  readonly initialEventsBookmark: boolean;
  /** Also shows objects that cannot be decoded, at which a watch ends otherwise. */
  readonly showsUndecodable?: boolean;
  /** BOOKMARKs about every minute, and shortly before the deadline. */
  readonly bookmarks: boolean;
  /** Monotonic milliseconds at which the caller will end the watch; for the last bookmark. */
  readonly deadline: number;
}

/**
 * A running watch. `receive` is called synchronously with events in order, never concurrently; it returns false when the
 * transport is full. Then events are held back, up to a bound, until `resume`; beyond the bound the watcher is ended.
 */
export interface Watcher {
  resume(): void;
  /** Ends it; idempotent. `ended` is not called. */
  stop(): void;
}

export interface WatchReceiver {
  receive(events: readonly WatchEvent[]): boolean;
  /** The cacher ended the watch: `slow` (could not keep up), `closed` (shutdown, type removed), or an error. */
  ended(reason: 'slow' | 'closed' | Error): void;
}

/**
 * The cache of one resource type. Reads wait until it has what they ask for: for its load, and for a bounded time for a revision.
 *
 * What is shown under a revision holds everything up to it, always: lists, initial events, bookmarks, and `revision` itself. Whatever is
 * lost, delayed or read again in between, a reader gets a state that was checked in the step in which it was taken, or an error
 * (docs/design/watch-cache.md).
 */
export interface ResourceCache {
  readonly resource: string;
  /** Identity of the log whose revisions the cache shows; undefined where nothing tells logs apart. */
  readonly logId?: string | undefined;
  get(key: string, at: ReadAt): Promise<CachedObject | undefined>;
  /** What `get` resolves with, where that is there already and need not be waited for; else undefined. Absent: it always has to be. */
  getNow?(key: string, at: ReadAt): CachedObject | undefined;
  /**
   * The same without waiting, from what is there, which may be old, or missing where the cache is not ready. For the write path,
   * where the store compares revisions.
   */
  peek(key: string): CachedObject | undefined;
  /** Resolves once the type's objects have been loaded. */
  ready(): Promise<void>;
  /** Likewise all objects under a prefix, at the cache's present state. */
  peekAll(prefix: string): Iterable<CachedObject>;
  list(at: ReadAt, options: CacheListOptions): Promise<CachedList>;
  /** StorageError 'compacted' where the start is too old, 'too-large' where it does not come in time. */
  watch(options: CacheWatchOptions, receiver: WatchReceiver): Promise<Watcher>;
  /** Newest revision that the cache has seen (of the whole log). */
  revision(): Revision;
  /** Number of objects. */
  size(): number;
  /**
   * Calls the listener, synchronously, after every change of what `peek` and `peekAll` show; the function returned ends it. Absent where
   * the cache stands over another one.
   */
  onChange?(listener: () => void): () => void;
  /** The same cache, with a watch on what its reads take, for caches that do more than read. Absent: reading is all. */
  under?(watch: Stopwatch): ResourceCache;
}

/** How a type tells the cache about its objects. */
export interface CachedType {
  readonly resource: string;
  attributes(object: JsonObject): Attributes;
}

/** All caches of a process over one backend: one event stream feeds them. */
export interface Cacher {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The cache of a type, loaded on first use. Adding a type again with another `attributes` rebuilds what selectors see. */
  add(type: CachedType): ResourceCache;
  /** Forgets a type and ends its watchers. */
  remove(resource: string): void;
  /** Reads a type anew and ends its watchers: what could not be read before may be readable now. */
  reload(resource: string): void;
  /** False, with a reason, while the cache does not follow the log (for readyz). */
  healthy(): { readonly ok: boolean; readonly reason: string };
}
