import { createHash } from 'node:crypto';
import type { Collection, Db, FindOptions } from 'mongodb';
import { StorageError } from '../errors.js';
import type { LogEvent, Revision, StoredObject } from '../interfaces.js';
import { copyOf } from '../../util/bytes.js';
import { withRevision } from '../object-bytes.js';
import { readRecord } from '../record.js';
import type { Database } from './connection/connection.js';

/** One write of a batch. It contains the whole event, so that nothing else must be kept to read it. */
export interface Entry {
  readonly resource: string;
  readonly type: LogEvent['type'];
  readonly key: string;
  /** The revision of the previous state; 0 for none. */
  readonly previous: Revision;
  /** The new state's record; absent for DELETED, whose object is the previous one with another revision. */
  readonly bytes?: Uint8Array;
  /** The record of the previous state. */
  readonly before?: Uint8Array;
}

/**
 * A document of the log, which is one commit. It has the revisions from `_id` to `last`; its entries have the first ones. A document
 * without entries is a *gap*: everything before it is compacted.
 */
export interface BatchDocument {
  /** The first revision. */
  readonly _id: Revision;
  readonly last: Revision;
  /** The replica that wrote it, and the number of its commit: together they show whether a commit took place. */
  readonly writer: string;
  readonly batch: number;
  /** The time by the replica's clock; for diagnosis only. */
  readonly time: Date;
  readonly entries: readonly Entry[];
}

/** An object in the projection: its fields, which users can read and query, and its record. */
export interface StateDocument extends State {
  readonly _id: string;
}

/** The same without its key. */
export interface State {
  readonly _annex: {
    readonly revision: Revision;
    /** Absent if the object was deleted at the revision. */
    readonly bytes?: Uint8Array;
    readonly deleted?: true;
  };
  readonly [field: string]: unknown;
}

/** Small facts about the whole store: its format, the compacted revisions of each log, and the types with logs of their own. */
export interface MetaDocument {
  readonly _id: string;
  readonly version?: number;
  readonly revision?: Revision;
  /** The cluster that the database belongs to. */
  readonly uid?: string;
  /** The log that the document is about. */
  readonly log?: string;
  /** Revisions that were committed and projected, with all before them, at certain times by MongoDB's clock. */
  readonly marks?: readonly Mark[];
  readonly overrides?: readonly LogOverride[];
  /** Logs that must be raised above the revisions of the types that move to them, before anything is written. */
  readonly pending?: readonly string[];
}

export interface Mark {
  readonly revision: Revision;
  /** The cluster time, in seconds. */
  readonly at: number;
}

/** A key whose tombstones are kept, because writes of older states may still be in flight. */
export interface HeldDocument {
  /** Type and key. */
  readonly _id: string;
  readonly log: string;
  readonly resource: string;
  readonly key: string;
  /** The time by MongoDB's clock. */
  readonly at: Date;
}

/** A type whose log is not the main one. */
export interface LogOverride {
  readonly resource: string;
  readonly log: string;
}

/** The options of writes that a majority must have. */
export const DURABLE = { writeConcern: { w: 'majority', journal: true } } as const;

export const META = 'meta';
export const WRITERS = 'writers';
export const HELD = 'held';
export const REPLICAS = 'replicas';

/** What a database of standalone servers belongs to: they are the cluster themselves. */
export const STANDALONE = 'standalone';

/** The log of all types that have no log of their own. */
export const MAIN_LOG = '';

/** The location of a log in the database. */
export interface LogPlace extends Database {
  readonly name: string;
  /** The collection of its batches. Names of logs have no dots, so no type's collection has the same name. */
  readonly collection: string;
  /** The id in META of the floor: batches at or below it may be gone, and must not be used. */
  readonly floorId: string;
  /** The id in META of the base: everything up to it is projected, and no longer delivered to readers. */
  readonly baseId: string;
  /** The id in META of the marks. */
  readonly marksId: string;
}

export function logPlace({ db, latest }: Database, name: string): LogPlace {
  const suffix = name === MAIN_LOG ? '' : `.${name}`;
  return {
    db,
    latest,
    name,
    collection: `log${suffix}`,
    floorId: `floor${suffix}`,
    baseId: `base${suffix}`,
    marksId: `marks${suffix}`,
  };
}

export function batchesOf(place: LogPlace): Collection<BatchDocument> {
  return place.db.collection<BatchDocument>(place.collection);
}

export function metaOf(db: Db): Collection<MetaDocument> {
  return db.collection<MetaDocument>(META);
}

/** Returns the id in META of the first revision up to which all batches of a replica are projected. */
export const projectedId = (writer: string): string => `projected.${writer}`;

/** The names of a database and a collection together may have 255 bytes. */
const MAX_NAME = 180;

/** Returns the collection of a type's objects. It has the name of the type unless MongoDB does not allow that name. */
export function statesOf(db: Db, resource: string): Collection<StateDocument> {
  return db.collection<StateDocument>(stateCollection(resource));
}

export function stateCollection(resource: string): string {
  if (resource.length > MAX_NAME) {
    const digest = createHash('sha256').update(resource).digest('hex').slice(0, 16);
    return `${resource.slice(0, MAX_NAME)}~${digest}`;
  }
  return resource.startsWith('system.') ? `~${resource}` : resource;
}

/** The revision of an empty store. 0 has a meaning of its own in requests, so no state has it. */
export const FIRST_REVISION = 1;

/** Returns the events of a batch from a revision on. */
export function eventsOf({ _id: first, entries }: BatchDocument, from: Revision = first): LogEvent[] {
  return entries.slice(Math.max(0, from - first)).map((entry, i) => eventOf(entry, Math.max(first, from) + i));
}

function eventOf({ resource, key, type, previous: before, ...entry }: Entry, revision: Revision): LogEvent {
  const previous = before === 0 ? undefined : { key, revision: before, ...own(entry.before, revision) };
  const object =
    type === 'DELETED' && previous !== undefined
      ? { ...previous, revision, bytes: withRevision(previous.bytes, revision) }
      : { key, revision, ...own(entry.bytes, revision) };
  return { revision, resource, key, type, object, previous };
}

/** Matches documents that are not tombstones. */
export const LIVING = { '_annex.deleted': { $ne: true } } as const;

/** Returns undefined for a tombstone. */
export function storedOf({ _id: key, _annex }: Pick<StateDocument, '_id' | '_annex'>): StoredObject | undefined {
  if (_annex.bytes === undefined) return undefined;
  return { key, revision: _annex.revision, ...readRecord(_annex.bytes) };
}

/** Reads the objects with these keys from a collection; tombstones are left out. */
export async function statesIn(
  collection: Collection<StateDocument>,
  keys: readonly string[],
  options: FindOptions = {},
): Promise<Map<string, StoredObject>> {
  const found = collection
    .find({ _id: { $in: [...keys] } }, options)
    .project<Pick<StateDocument, '_id' | '_annex'>>({ _annex: 1 });
  const states = new Map<string, StoredObject>();
  for (const document of await found.toArray()) {
    const stored = storedOf(document);
    if (stored !== undefined) states.set(document._id, stored);
  }
  return states;
}

/** Returns a copy, because the driver returns views that would keep the whole reply in memory. */
function own(record: Uint8Array | undefined, revision: Revision): Pick<StoredObject, 'bytes' | 'flags'> {
  if (record === undefined) {
    throw new StorageError('corrupt', `the log entry of revision ${revision} is damaged`, { revision });
  }
  return readRecord(copyOf(record));
}
