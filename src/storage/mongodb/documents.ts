import { createHash } from 'node:crypto';
import type { Collection, Db } from 'mongodb';
import { StorageError } from '../errors.js';
import type { LogEvent, Revision, StoredObject } from '../interfaces.js';
import { copyOf, withRevision } from '../object-bytes.js';
import { readRecord } from '../record.js';
import type { Database } from './connection/connection.js';

/** One write of a batch. It tells the whole event by itself, so that nothing else must be kept to read it. */
export interface Entry {
  readonly resource: string;
  readonly type: LogEvent['type'];
  readonly key: string;
  /** Revision of the state before; 0 for none. */
  readonly previous: Revision;
  /** The new state's record; absent for DELETED, where it is the one before with another revision. */
  readonly bytes?: Uint8Array;
  /** The record of the state before. */
  readonly before?: Uint8Array;
}

/**
 * A document of the log: a commit. It has the revisions from `_id` to `last`; its entries have the first ones. One without entries is a
 * *gap*: what lies before it is forgotten.
 */
export interface BatchDocument {
  /** The first revision. */
  readonly _id: Revision;
  readonly last: Revision;
  /** The replica that wrote it, and the number of its commit: together they tell whether a commit took place. */
  readonly writer: string;
  readonly batch: number;
  /** By the replica's clock, for people. */
  readonly time: Date;
  readonly entries: readonly Entry[];
}

/** An object in the projection: what people can read and query, and beside it the record. */
export interface StateDocument extends State {
  readonly _id: string;
}

/** The same without its key. */
export interface State {
  readonly _annex: {
    readonly revision: Revision;
    /** Absent where the object was deleted at the revision. */
    readonly bytes?: Uint8Array;
    readonly deleted?: true;
  };
  readonly [field: string]: unknown;
}

/** Small facts about the whole store: its format, what is compacted of each log, and which types have logs of their own. */
export interface MetaDocument {
  readonly _id: string;
  readonly version?: number;
  readonly revision?: Revision;
  /** The log that it is about. */
  readonly log?: string;
  /** Revisions that were committed and projected, with all before them, at moments of MongoDB's time. */
  readonly marks?: readonly Mark[];
  readonly overrides?: readonly LogOverride[];
  /** Logs that must be brought up to the revisions of the types that move to them, before anything is written. */
  readonly pending?: readonly string[];
}

export interface Mark {
  readonly revision: Revision;
  /** In seconds of cluster time. */
  readonly at: number;
}

/** A key whose tombstones stay, as somebody's writes of older states may still be on their way. */
export interface HeldDocument {
  /** Type and key. */
  readonly _id: string;
  readonly log: string;
  readonly resource: string;
  readonly key: string;
  /** By MongoDB's clock. */
  readonly at: Date;
}

/** A type with a log other than the main one. */
export interface LogOverride {
  readonly resource: string;
  readonly log: string;
}

export const META = 'meta';
export const WRITERS = 'writers';
export const HELD = 'held';

/** The log that orders all types that have none of their own. */
export const MAIN_LOG = '';

/** Where a log is kept. */
export interface LogPlace extends Database {
  readonly name: string;
  /** The collection of its batches. A name without a dot, so that no type's collection is named alike. */
  readonly collection: string;
  /** Of the document in META with the floor: batches at or below it may be gone, and nobody relies on them. */
  readonly floorId: string;
  /** Of the one with the base: all up to there is projected, and no reader is told of it. */
  readonly baseId: string;
  /** Of the one with the marks. */
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

/** Of the document that tells up to which first revision all batches of a replica are projected. */
export const projectedId = (writer: string): string => `projected.${writer}`;

/** Database and collection together may have 255 bytes. */
const MAX_NAME = 180;

/** The collection of a type's objects: named as the type, but where MongoDB has no such names. */
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

/** The revision of an empty store. 0 has a meaning of its own in requests, so it is never a state. */
export const FIRST_REVISION = 1;

/** The events of a batch, from a revision on. */
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

/** Of documents that are no tombstones. */
export const LIVING = { '_annex.deleted': { $ne: true } } as const;

/** Undefined for a tombstone. */
export function storedOf({ _id: key, _annex }: Pick<StateDocument, '_id' | '_annex'>): StoredObject | undefined {
  if (_annex.bytes === undefined) return undefined;
  return { key, revision: _annex.revision, ...readRecord(_annex.bytes) };
}

/** Some objects of a type as the projection has them. */
export async function readStates(
  { db, latest }: Database,
  resource: string,
  keys: readonly string[],
): Promise<Map<string, StoredObject>> {
  const documents = await statesOf(db, resource)
    .find({ _id: { $in: [...keys] } }, latest.options)
    .project<Pick<StateDocument, '_id' | '_annex'>>({ _annex: 1 })
    .toArray();
  return new Map(
    documents.flatMap((document) => {
      const stored = storedOf(document);
      return stored === undefined ? [] : [[document._id, stored] as const];
    }),
  );
}

/** A copy: what the driver gives is a view of a whole reply, which would stay in memory with it. */
function own(record: Uint8Array | undefined, revision: Revision): Pick<StoredObject, 'bytes' | 'flags'> {
  if (record === undefined) {
    throw new StorageError('corrupt', `the log entry of revision ${revision} is damaged`, { revision });
  }
  return readRecord(copyOf(record));
}
