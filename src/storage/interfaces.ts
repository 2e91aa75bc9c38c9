import type { JsonObject } from '../apimachinery/json/json.js';
import type { Author, KeptHistory } from './kept/interfaces.js';

/**
 * The storage contract. A backend keeps the current objects and a *log*: one entry for each committed write, under consecutive revisions
 * that never restart. Everything above storage treats the decimal text of a revision as opaque.
 *
 * A resource type is named `<plural>.<group>`, or `<plural>` in the core group (`configmaps`). A key is `<namespace>/<name>`, or `<name>`
 * for cluster-scoped types. Keys are ordered by their UTF-8 bytes.
 */
export type Revision = number;

/**
 * The JSON text of an object, still without its revision: the text is `head + revision + tail`, and the revision is the first field of
 * metadata: `{"apiVersion":"v1","kind":"X","metadata":{"resourceVersion":"` + `7` + `","name":…`. Every stored object has exactly this
 * layout, so that apiVersion and kind can be replaced without parsing.
 */
export interface EncodedObject {
  readonly head: string;
  readonly tail: string;
  /** Facts about the object that its text does not hold; see record.ts. */
  readonly flags: number;
  /** The encoded object without a resourceVersion, so that it need not be parsed again. Must not be changed. */
  readonly object: JsonObject;
  /** Set if a worker thread encoded the object, so that reading `object` would parse the text: the attributes that selectors match. */
  readonly attributes?: Attributes | undefined;
  /** Set if the object is encrypted: the bytes to store instead of the text. Nothing else of the object may be stored. */
  readonly sealed?: Uint8Array | undefined;
}

/** The attributes that selectors match. The type computes them once for each stored object. */
export interface Attributes {
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** Selectable fields, including `metadata.name` and `metadata.namespace`. */
  readonly fields: Readonly<Record<string, string>>;
}

/** A committed object. Immutable. */
export interface StoredObject {
  readonly key: string;
  /** The revision of its last write. */
  readonly revision: Revision;
  /** The complete JSON text in UTF-8, including the resourceVersion. */
  readonly bytes: Uint8Array;
  /** Facts about the object that its text does not hold; see record.ts. */
  readonly flags: number;
  /** Set if this process wrote the object and still has its decoded form, which has no resourceVersion. */
  readonly object?: JsonObject | undefined;
  /** Set if the attributes were computed elsewhere. The type may have had other selectable fields by then. */
  readonly attributes?: Attributes | undefined;
  /** Set if the stored bytes could not be decrypted: the reason. `bytes` is empty then. */
  readonly unreadable?: string | undefined;
  /** True if the object is encrypted with an older key: an update that changes nothing is written anyway. */
  readonly stale?: boolean | undefined;
}

export interface StoredList {
  readonly items: readonly StoredObject[];
  /** The revision at which the list was read. */
  readonly revision: Revision;
  /** True if more items follow the last one. */
  readonly more: boolean;
  /** The number of items after the last one; counted only if `more` is true. */
  readonly remaining: number;
}

export interface ListOptions {
  /** Returns only keys with this prefix; '' for all keys. The prefix of a namespace ends with a slash. */
  readonly prefix: string;
  /** The first key to return (inclusive), for continuation; '' to start at the prefix. */
  readonly from: string;
  /** The maximum number of items; 0: no limit. */
  readonly limit: number;
  /** 0: the newest revision. Otherwise exactly this revision; throws StorageError 'compacted' or 'too-large' if it is not available. */
  readonly revision: Revision;
}

/** One committed write. */
export interface LogEvent {
  readonly revision: Revision;
  readonly resource: string;
  readonly key: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The new state; for DELETED the last state, with the revision of the deletion as resourceVersion. */
  readonly object: StoredObject;
  /** The previous state; undefined for ADDED. For DELETED its revision is that of the last write before the deletion. */
  readonly previous?: StoredObject | undefined;
}

export interface WriteRequest {
  readonly resource: string;
  readonly key: string;
  /** The revision that the current object must have; 0: the object must not exist. */
  readonly expected: Revision;
  /** The new state; undefined deletes the object. */
  readonly value: EncodedObject | undefined;
  /** The previous object if the caller has it, so that the store need not read it. Ignored if its revision is not the expected one. */
  readonly previous?: StoredObject | undefined;
  /** Who writes; absent for the server itself. */
  readonly author?: Author | undefined;
}

/** The result of a write. `committed` is durable. `conflict` carries the current object, or undefined if none exists. */
export type WriteResult =
  | { readonly outcome: 'committed'; readonly object: StoredObject }
  | { readonly outcome: 'conflict'; readonly current: StoredObject | undefined };

/**
 * All events of a log after a revision, in batches, in order, without gaps. Ends when the signal is aborted; throws StorageError if the
 * revision is compacted or the stream is lost for good.
 */
export type EventStream = AsyncIterable<readonly LogEvent[]>;

/** Whether something works, and the reason if it does not; the reason is empty otherwise. */
export interface Health {
  readonly ok: boolean;
  readonly reason: string;
}

export const HEALTHY: Health = { ok: true, reason: '' };

/**
 * States that can be read synchronously from a file on this machine, so that a cache can drop the bytes of its objects. Every state read is
 * verified with a checksum. A damaged state has no bytes and says so in `unreadable`.
 */
export interface LocalStates {
  /** Returns the state that a write at a revision gave an object, or undefined if it is no longer kept. Its bytes are valid until the next call. */
  read(key: string, revision: Revision): StoredObject | undefined;
  /**
   * Visits all objects of the type at one revision, in the order of their keys, and resolves with that revision, or with undefined if they
   * cannot be read this way. The bytes are valid only during the call of `visit`.
   */
  walk(visit: (object: WalkedObject) => void): Promise<Revision | undefined>;
  /**
   * Set if the file is a mere copy of the store, which the cache fills: a damaged state in it can be read from the store again, while a
   * damaged state in the store is lost.
   */
  readonly copy: LocalCopy | undefined;
}

/** A local file that a cache fills with the states of its type. */
interface LocalCopy {
  /** Stores newest states so that they can be read from the file; false if there is no room. */
  keep(states: Iterable<KeptState>): boolean;
  /** Tells the file that an object has changed or was deleted. */
  changed(key: string): void;
  /** Called once a second while the type is followed. If a save is due, stores what has changed, for the next process to resume from. */
  save(states: NewestStates): void;
  /** Tells the file that the type is no longer served. */
  drop(): void;
}

/** `keptLength`: the length in bytes of a state that the file already holds. Its bytes are read when `bytes` is accessed. */
export type WalkedObject = StoredObject & { readonly keptLength?: number };

/** The part of a state that a local file keeps. */
export type KeptState = Pick<StoredObject, 'key' | 'revision' | 'flags' | 'bytes'>;

/** The newest known states of a type's objects. */
export interface NewestStates {
  /** The revision up to which every change is included. */
  readonly revision: Revision;
  /** False once the type is closed or reloaded: these states must not be used then. */
  isCurrent(): boolean;
  /** The keys of the objects that are in memory, not packed. */
  inMemory(): Iterable<string>;
  /** Returns the state of an object, or undefined if none exists. */
  stateOf(key: string): NewestState | undefined;
}

export type NewestState = KeptState & Pick<StoredObject, 'unreadable'> & { readonly undecodable: boolean };

/** A state copied from another store, with its revision in that store. */
export interface StagedObject {
  readonly key: string;
  readonly revision: Revision;
  readonly value: EncodedObject;
}

/**
 * A copy of types from another store, with the revisions they have there. No log has these objects, and clients are not served from them.
 * Copies with different names are separate.
 */
export interface Staging {
  /** Returns the revisions of all objects of a type. */
  revisions(resource: string): Promise<Map<string, Revision>>;
  /** Returns the states of the given objects. */
  states(resource: string, keys: readonly string[]): Promise<Map<string, StoredObject>>;
  /** Stores objects; durable when it resolves. Objects older than the ones in the copy are skipped. */
  put(resource: string, objects: readonly StagedObject[]): Promise<void>;
  remove(resource: string, keys: readonly string[]): Promise<void>;
  /** Deletes the whole copy. */
  drop(): Promise<void>;
  /**
   * Makes the copy of a type the type's objects. The type must have no objects. Idempotent. A server of the type must not read it before
   * the log was raised.
   */
  install(resource: string): Promise<void>;
  /** Deletes the objects of a type that is not served, without a log entry. */
  discard(resource: string): Promise<void>;
}

/** Messages that the processes sharing a store publish about themselves. */
export interface Presence {
  /** Replaces the message of this process. A process that has not published for 15 s, by the store's clock, counts as gone. */
  publish(what: string): Promise<void>;
  /** Returns the last message of each process that is present, or was within the given time, and has not left. */
  all(withinMillis?: number): Promise<readonly string[]>;
  /** Removes this process. */
  leave(): Promise<void>;
}

/** The revision of an object that a cache knows. */
export interface KnownRevision {
  /** The revision of the object's last write; 0: no such object exists. */
  readonly revision: Revision;
  /** The revision up to which every write is included. */
  readonly asOf: Revision;
}

/** The lag of the projection (the documents that users query) behind the log: for how long, and for how many objects. */
export interface ProjectionLag {
  readonly seconds: number;
  readonly objects: number;
}

/** The current objects of all types, and their past states within the history window. */
export interface ObjectStore {
  get(resource: string, key: string): Promise<StoredObject | undefined>;
  list(resource: string, options: ListOptions): Promise<StoredList>;
  /** Writes if the current revision is the expected one. Concurrent calls share commits. Resolves once durable. */
  write(request: WriteRequest): Promise<WriteResult>;
}

/** The log that orders the writes. */
export interface Log {
  /** Returns the revision of the newest committed write, read consistently (it covers every write acknowledged before the call). */
  currentRevision(): Promise<Revision>;
  /** Like currentRevision, but synchronous; undefined if other processes write to the log, too. */
  revisionNow(): Revision | undefined;
  /** Returns the oldest revision that can be read exactly and that a watch can start after. */
  compactedRevision(): Revision;
  /** The time (milliseconds since the epoch) when the history was last trimmed to its window; undefined before the store is open. */
  trimmedAt(): number | undefined;
  events(after: Revision, signal: AbortSignal): EventStream;
  /** Compacts the history before the revision. The backend also does so by itself, after its history window. */
  compact(revision: Revision): Promise<void>;
  /** Continues the log above a revision and compacts everything before: every watch and every cache of the log starts over. */
  raise(above: Revision): Promise<void>;
}

export interface Lifecycle {
  /** Opens or creates the store. If that fails, the error says what to do. */
  open(): Promise<void>;
  /** Waits for the writes in progress, then releases everything. */
  close(): Promise<void>;
}

export interface StoreHealth {
  /** Resolves if the store responds. */
  ping(): Promise<void>;
  /** Reports whether writes succeed. */
  writing(): Health;
  /** Reports whether writes of other processes are being received; undefined if there are no other processes. */
  readonly following: (() => Health) | undefined;
  /**
   * Reports whether the store is the one that was opened. Not ok from the time when its log was replaced, by a restore, until everything has
   * been loaded anew: meanwhile nothing may be shown and no write is accepted. Says nothing about whether the store responds.
   */
  same(): Health;
}

/** Keeps copies of types from another store. */
export interface StagingArea {
  /** Returns the copy with this name. */
  copy(name: string): Staging;
}

/** Documents that users query, which follow the log. */
export interface Projection {
  /** Returns how far the documents lag behind the log; undefined before the store is open. */
  lag(): ProjectionLag | undefined;
}

export interface LocalStateSource {
  /** Returns the states of a type, or undefined if none of them can be read synchronously. */
  of(resource: string): LocalStates | undefined;
}

export interface FieldIndexes {
  /**
   * Keeps indexes on these fields of a type (`spec.color`), and on no others, for users who query the store with its own tools. Runs in the
   * background.
   */
  keep(resource: string, fields: readonly string[]): void;
}

export type RevisionLookup = (resource: string, key: string) => KnownRevision | undefined;

/** A store that asks the caches for the revisions of objects, so that a write need not read them from the store. */
export interface RevisionConsumer {
  consult(known: RevisionLookup): void;
}

interface LogRouting {
  /** Returns the name of the log that orders a type's writes; '' is the main one. */
  logOf(resource: string): string;
}

/** What some stores can do and others cannot. A store has a capability from its construction on, or never. */
export interface Capabilities {
  /** Undefined if the store keeps no copies. */
  readonly staging: StagingArea | undefined;
  /** Undefined if one process has the store to itself. */
  readonly presence: Presence | undefined;
  /** Undefined if the log's objects are the documents, or users cannot query any. */
  readonly projection: Projection | undefined;
  /** Undefined if every read waits. */
  readonly localStates: LocalStateSource | undefined;
  /** Undefined if users have no tools to query the store. */
  readonly indexes: FieldIndexes | undefined;
  /** Undefined if the store knows the revisions of its objects without waiting. */
  readonly knownRevisions: RevisionConsumer | undefined;
  /** Undefined if one log orders all types. */
  readonly routing: LogRouting | undefined;
  /** Undefined if only the history window is kept. */
  readonly kept: KeptHistory | undefined;
}

/** A store. All methods throw StorageError, with a code, if they fail. See docs/design/writing-a-backend.md. */
export interface Backend extends Lifecycle, ObjectStore, Log, Capabilities {
  readonly health: StoreHealth;
}

/** The operations that read and write the objects of a type. */
export type StoreBackend = Pick<ObjectStore, 'get' | 'write'>;
