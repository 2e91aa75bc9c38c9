import type { JsonObject } from '../apimachinery/json/json.js';

/**
 * The storage contract. A backend keeps the current objects and a *log*: one entry for each committed write, under
 * consecutive revisions that never start again. Everything above storage treats a revision's decimal text as opaque.
 *
 * A resource type is named by `<plural>.<group>` (`configmaps.` is written `configmaps` in the core group). A key is
 * `<namespace>/<name>`, or `<name>` for cluster-scoped types. Keys are ordered by their UTF-8 bytes.
 */
export type Revision = number;

/**
 * The JSON text of an object, ready for its revision: the text is `head + revision + tail`, and the revision stands as the
 * first field of metadata: `{"apiVersion":"v1","kind":"X","metadata":{"resourceVersion":"` + `7` + `","name":…`.
 * Every stored object has exactly this layout, so that apiVersion and kind can be exchanged without parsing.
 */
export interface EncodedObject {
  readonly head: string;
  readonly tail: string;
  /** Facts that the text does not hold; see record.ts. */
  readonly flags: number;
  /** What was encoded, without a resourceVersion, so that nobody must parse it again. Not to be changed. */
  readonly object: JsonObject;
  /** Present where the object was encoded elsewhere and must be parsed for `object`: what selectors look at. */
  readonly attributes?: Attributes | undefined;
  /** Present where the object is encrypted: what a backend stores instead of the text. Nothing else of the object may be stored. */
  readonly sealed?: Uint8Array | undefined;
}

/** What selectors look at. Computed once for each stored object, by the type. */
export interface Attributes {
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** Selectable fields, `metadata.name` and `metadata.namespace` included. */
  readonly fields: Readonly<Record<string, string>>;
}

/** A committed object. Immutable. */
export interface StoredObject {
  readonly key: string;
  /** Revision of its last write. */
  readonly revision: Revision;
  /** The whole JSON text in UTF-8, resourceVersion included. */
  readonly bytes: Uint8Array;
  /** Facts that the text does not hold; see record.ts. */
  readonly flags: number;
  /** Present where the process itself wrote the object and still has the decoded form (without resourceVersion). */
  readonly object?: JsonObject | undefined;
  /** Present where they were computed elsewhere, by the type as it was then. */
  readonly attributes?: Attributes | undefined;
  /** Why the stored bytes could not be decrypted. There are no bytes then. */
  readonly unreadable?: string | undefined;
  /** It is stored under an older key: it is written even if an update changes nothing of it. */
  readonly stale?: boolean | undefined;
}

export interface StoredList {
  readonly items: readonly StoredObject[];
  /** The revision at which the list was read. */
  readonly revision: Revision;
  /** Whether more items follow the last one. */
  readonly more: boolean;
  /** Number of items after the last one; counted only when `more`. */
  readonly remaining: number;
}

export interface ListOptions {
  /** Only keys that start with it; '' for all. A namespace's prefix ends with a slash. */
  readonly prefix: string;
  /** First key wanted (inclusive), for continuation; '' to begin at the prefix. */
  readonly from: string;
  /** 0: no limit. */
  readonly limit: number;
  /** 0: the newest. Otherwise exactly this revision: RevisionCompacted or RevisionTooLarge where it is not to be had. */
  readonly revision: Revision;
}

/** One committed write. */
export interface LogEvent {
  readonly revision: Revision;
  readonly resource: string;
  readonly key: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The new state; for DELETED the last state with the deletion's revision as resourceVersion. */
  readonly object: StoredObject;
  /** The state before; undefined for ADDED. For DELETED its revision is that of the last write before the deletion. */
  readonly previous?: StoredObject | undefined;
}

export interface WriteRequest {
  readonly resource: string;
  readonly key: string;
  /** Revision that the current object must have; 0: it must not exist. */
  readonly expected: Revision;
  /** The new state; undefined deletes. */
  readonly value: EncodedObject | undefined;
  /** The object as it was, where the caller has it, so that the store need not read it; ignored where it is not of the expected revision. */
  readonly previous?: StoredObject | undefined;
}

/** `committed` is durable. `conflict` carries the current object, undefined where there is none. */
export type WriteResult =
  | { readonly outcome: 'committed'; readonly object: StoredObject }
  | { readonly outcome: 'conflict'; readonly current: StoredObject | undefined };

export interface EventStream {
  /**
   * All events of the log after the revision asked for, in batches, in order, without a hole. Ends when the signal aborts;
   * throws StorageError where the revision is compacted or the stream is lost for good.
   */
  batches: AsyncIterable<readonly LogEvent[]>;
}

/**
 * States that can be read without waiting, because they lie in a file on this machine: whoever holds an object in memory may let go of
 * its bytes. What is read was checked against a checksum; a state that is damaged has no bytes, and says so in `unreadable`.
 */
export interface AtHand {
  /** The state that a write at a revision gave an object; undefined where it is no longer kept. Its bytes are valid until the next call. */
  read(key: string, revision: Revision): StoredObject | undefined;
  /**
   * Hands out all objects of the type as they are at one revision, in the order of their keys, and resolves with that revision; with
   * undefined where they cannot be read this way. The bytes are valid during the call of `visit` alone.
   */
  walk(visit: (object: WalkedObject) => void): Promise<Revision | undefined>;
  /**
   * Takes newest states in, so that they can be read; false where there is no room. Absent where the store itself has every state: what is
   * damaged in such a file is there another time, and what is damaged in the store is lost.
   */
  keep?(states: Iterable<KeptState>): boolean;
  /** An object has another state, or is gone. */
  changed?(key: string): void;
  /** Called once a second while the type is followed: where it is time to, takes in what changed, for the next process. */
  save?(states: NewestStates): void;
  /** The type is no longer served. */
  drop?(): void;
}

/** `keptLength`: so many bytes were taken in for it before; they are read when `bytes` is. */
export type WalkedObject = StoredObject & { readonly keptLength?: number };

/** What a file at hand keeps of a state. */
export type KeptState = Pick<StoredObject, 'key' | 'revision' | 'flags' | 'bytes'>;

/** The states of a type's objects, as far as they are known now. */
export interface NewestStates {
  /** All that happened up to it is in them. */
  readonly revision: Revision;
  /** False once the type is closed or loaded anew: what they tell then is nothing to go by. */
  isCurrent(): boolean;
  /** Keys of the objects that are in memory, not packed. */
  inMemory(): Iterable<string>;
  /** Undefined: there is none. */
  stateOf(key: string): NewestState | undefined;
}

export type NewestState = KeptState & Pick<StoredObject, 'unreadable'> & { readonly undecodable: boolean };

/** A state that comes from another store, with its revision there. */
export interface StagedObject {
  readonly key: string;
  readonly revision: Revision;
  readonly value: EncodedObject;
}

/**
 * Objects of types that are copied from another store with their revisions. No log tells of them, nobody is served them, and what
 * has another name is another copy.
 */
export interface Staging {
  /** The revisions of all objects of a type. */
  revisions(resource: string): Promise<Map<string, Revision>>;
  /** The states of some of them. */
  states(resource: string, keys: readonly string[]): Promise<Map<string, StoredObject>>;
  /** Durable when it resolves. States that are older than those that are there are left out. */
  put(resource: string, objects: readonly StagedObject[]): Promise<void>;
  remove(resource: string, keys: readonly string[]): Promise<void>;
  /** Removes all of the copy. */
  drop(): Promise<void>;
  /**
   * The copy of a type becomes the type's objects, which must have none; again, it is done already. Whoever serves the type reads it
   * only after the log was raised.
   */
  install(resource: string): Promise<void>;
  /** Removes the objects of a type that nobody serves, without a word in the log. */
  discard(resource: string): Promise<void>;
}

/** What the processes on a store say of themselves to each other. */
export interface Presence {
  /** Replaces what this process said before. A process that has said nothing for 15 s, by the store's clock, is not there. */
  say(what: string): Promise<void>;
  /** What each of those said last that are there, or have been within a time, and have not left. */
  all(withinMillis?: number): Promise<readonly string[]>;
  /** This process is not there any more. */
  leave(): Promise<void>;
}

/** What the objects of a type are read from and written to. */
export type StoreBackend = Pick<Backend, 'get' | 'write'>;

/** What a cache knows of an object. */
export interface KnownRevision {
  /** Of the object's last write; 0: there is no such object. */
  readonly revision: Revision;
  /** Every write up to here has been taken into account. */
  readonly asOf: Revision;
}

/** Objects whose writes are not yet where people read them, and for how long that has been so. */
export interface ProjectionLag {
  readonly seconds: number;
  readonly objects: number;
}

/** A store. All methods throw StorageError with a code where they fail. */
export interface Backend {
  /** Opens or creates the store; throws with a message that says what to do where it can't. */
  open(): Promise<void>;
  /** Waits for writes under way, then releases everything. */
  close(): Promise<void>;
  /** Compare-and-write. Concurrent calls share commits. Resolves once durable. */
  write(request: WriteRequest): Promise<WriteResult>;
  get(resource: string, key: string): Promise<StoredObject | undefined>;
  list(resource: string, options: ListOptions): Promise<StoredList>;
  /** Revision of the newest committed write, read consistently (after every write acknowledged before the call). */
  currentRevision(): Promise<Revision>;
  /** The same without asking anybody; absent where other processes write to the store too. */
  revisionNow?(): Revision;
  /** Oldest revision that can still be read exactly and after which a watch can start. */
  compactedRevision(): Revision;
  events(after: Revision, signal: AbortSignal): EventStream;
  /** Forgets history before the revision. The backend also does so by itself, after its history window. */
  compact(revision: Revision): Promise<void>;
  /**
   * Lets the log go on above a revision, and forgets what lies before: every watch and every cache of the log begins anew. Absent
   * where the store keeps no copies.
   */
  raise?(above: Revision): Promise<void>;
  /** A copy under a name; absent where the store keeps none. */
  staging?(name: string): Staging;
  /** Which processes share the store; absent where one has it for itself. */
  presence?(): Presence;
  /** When (milliseconds since the epoch) the history was last brought down to its window; undefined before the store is open. */
  trimmedAt?(): number | undefined;
  /** Names a cache that may know objects which a write finds, so that the store need not read them. Absent where it reads at no cost. */
  consult?(known: (resource: string, key: string) => KnownRevision | undefined): void;
  /** How far behind the log is what people read; absent where that is the same. */
  projectionLag?(): ProjectionLag | undefined;
  /** Resolves when the store answers; for readyz. */
  ping(): Promise<void>;
  /** What can be read without waiting; undefined for a type, or absent, where nothing can. */
  atHand?(resource: string): AtHand | undefined;
  /** The log that orders a type's writes, '' the main one; absent where one log orders all types. */
  logOf?(resource: string): string;
  /**
   * Keeps indexes on these fields of a type (`spec.color`), and on no others, for people who query the store with tools of
   * its own; in the background. Absent where there are no such tools.
   */
  index?(resource: string, fields: readonly string[]): void;
  /** Whether what other processes write is told; absent where there are none. */
  following?(): { readonly ok: boolean; readonly reason: string };
  /** Whether writes get through; absent where nothing keeps them from it. */
  writing?(): { readonly ok: boolean; readonly reason: string };
  /** Replaces the bytes of a stored object by ones that cannot be decoded. A test hook, refused unless the backend was opened for tests. */
  corrupt(resource: string, key: string, bytes: Uint8Array): Promise<void>;
}
