/**
 * Kept states: what writes made of objects, also after the objects were changed or deleted. See docs/design/undo.md.
 *
 * A store shows two places as one: the log, as far as the history window reaches, and the history, to which states move when they leave the
 * window, if the policy of their type wants them. Whatever a read here shows can be got by `state`, until it is purged.
 */

/** Who made a write. */
export interface Author {
  /** The name of the effective user. */
  readonly user: string;
  /** The field manager that the request named, or that follows from its user agent. */
  readonly manager: string;
  readonly userAgent: string;
  readonly auditID: string;
  /** The name of the user who impersonated `user`; '' if nobody did. */
  readonly impersonator: string;
}

export type Operation = 'Create' | 'Update' | 'Delete';

/** The content of a state: the object's JSON text with its resourceVersion, as in StoredObject. */
export interface KeptContent {
  /** The revision of the write that made the state; for a deletion that of the last write before. */
  readonly revision: number;
  readonly bytes: Uint8Array;
  readonly flags: number;
  /** Set if the content cannot be decrypted or is damaged: the reason. `bytes` is empty then. */
  readonly unreadable?: string | undefined;
}

/** One write, as history shows it. */
export interface KeptEntry {
  readonly resource: string;
  readonly key: string;
  /** The revision of the write. Names the entry among all entries of the store's log. */
  readonly revision: number;
  readonly operation: Operation;
  /** Milliseconds since the epoch by the store's time. Never decreases from one revision to the next. */
  readonly time: number;
  /** Undefined for writes by the server itself and by versions that did not record it. */
  readonly author: Author | undefined;
  /** The revision of the object's state before; 0 for none. It may be purged. */
  readonly previous: number;
  /** What the write made of the object; for a deletion the last state before it. */
  readonly content: KeptContent;
}

export interface KeptListOptions {
  /** The type; undefined for all types. */
  readonly resource: string | undefined;
  /** Returns only objects whose keys have this prefix; '' for all. The prefix of a namespace ends with a slash. */
  readonly prefix: string;
  /** Returns only the entries of one object. */
  readonly key?: string | undefined;
  /** Absent: all operations. */
  readonly operations?: readonly Operation[] | undefined;
  /** Returns only revisions above this one; 0 for all. */
  readonly after: number;
  /** Returns only revisions up to this one; 0 for all that exist now. */
  readonly upTo: number;
  readonly order: 'oldest first' | 'newest first';
  /** The maximum number of entries; at least 1. */
  readonly limit: number;
}

/** A page. The next one begins after (or, newest first, below) the last entry's revision, with the same `upTo` (or `after`). */
export interface KeptList {
  readonly entries: readonly KeptEntry[];
  /** The newest revision that the list looked at: `upTo`, or the store's revision. */
  readonly revision: number;
  /** True if more entries may follow. */
  readonly more: boolean;
}

export interface DeletedOptions {
  readonly prefix: string;
  /** Returns only these objects; absent for all. */
  readonly keys?: readonly string[] | undefined;
  /** Returns only objects deleted at or after this time, in milliseconds since the epoch by the store's time; 0 for all. */
  readonly since: number;
  /** The first key to return (inclusive), for continuation; '' to start at the prefix. */
  readonly from: string;
  /** The maximum number of objects; at least 1. */
  readonly limit: number;
}

/** A page of deleted objects, in the order of their keys. The next one begins at the last key followed by a NUL. */
export interface DeletedList {
  /** The newest deletion of each object that is gone. */
  readonly entries: readonly KeptEntry[];
  readonly revision: number;
  readonly more: boolean;
}

/** What is kept of a type. */
export interface KeptPolicy {
  /** How long the last state of a deleted object is kept, in milliseconds from its deletion; 0: not at all. */
  readonly keepDeletedFor: number;
  /** How long superseded states are kept, in milliseconds from the write that superseded them; 0: only within the history window. */
  readonly keepRevisionsFor: number;
  /** The maximum number of superseded states of one object; 0: no limit. */
  readonly maxRevisionsPerObject: number;
  /** The maximum number of bytes of both, as stored; 0: no limit of its own. The oldest go first, superseded states before deletions. */
  readonly maxBytes: number;
}

export interface PolicyState {
  /** The policy that was set last, or the default. */
  readonly policy: KeptPolicy;
  /** True if none was set. */
  readonly isDefault: boolean;
  /** Set while a longer, earlier policy still holds: everything that it keeps stays until that time (milliseconds, the store's time). */
  readonly earlier: { readonly policy: KeptPolicy; readonly until: number } | undefined;
}

export interface KeptUsage {
  readonly revisions: { readonly count: number; readonly bytes: number; readonly oldest: number | undefined };
  /** `bytes` as stored; `oldest`: the time of the oldest deletion. Only what has left the history window is counted. */
  readonly deleted: { readonly count: number; readonly bytes: number; readonly oldest: number | undefined };
  /** The number of states that `policy` does not keep and `earlier` does, which go when that ends. */
  readonly pending: number;
  /** Set if states went because of `maxBytes` (or, without a policy, of the limit of all types), and none since for their age alone: when. */
  readonly cutAt: number | undefined;
}

/** The history of a store. */
export interface KeptHistory {
  /** Lists writes. Takes time in bounded slices. */
  list(options: KeptListOptions): Promise<KeptList>;
  /** Returns the write that was made at a revision, with its content; undefined if `list` does not show it for the object. */
  entry(resource: string, key: string, revision: number): Promise<KeptEntry | undefined>;
  /**
   * Returns the state that a Create or Update made at a revision, such as the `previous` one of an entry: kept, in the window, the one that
   * a write within the window superseded, or the current one. Undefined if it is gone.
   */
  content(resource: string, key: string, revision: number): Promise<KeptContent | undefined>;
  /** Returns the objects of a type that are gone, with their last states. */
  deleted(resource: string, options: DeletedOptions): Promise<DeletedList>;
  /** Returns the types that have something in the history. */
  types(): Promise<readonly string[]>;
  usage(resource: string): Promise<KeptUsage>;
  policy(resource: string): Promise<PolicyState>;
  /**
   * Sets the policy of a type; undefined: the default. What is shortened takes effect 24 h later, what is lengthened at once. Does nothing
   * if it is the same.
   */
  setPolicy(resource: string, policy: KeptPolicy | undefined): Promise<void>;
  /**
   * Purges the states of objects at once, whatever the policy says: those superseded by, or deleted at, revisions up to the present one.
   * `keys` undefined: of all objects of the type. Returns the number of states that are gone. Current states stay.
   */
  purge(resource: string, keys: readonly string[] | undefined): Promise<number>;
}
