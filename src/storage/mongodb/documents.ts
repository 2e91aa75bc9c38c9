import { createHash } from 'node:crypto';
import type { Collection, Db } from 'mongodb';
import { StorageError } from '../errors.js';
import type { LogEvent, Revision, StoredObject } from '../interfaces.js';
import { copyOf, withRevision } from '../object-bytes.js';
import { readRecord } from '../record.js';
import type { LatestReads } from './latest-reads.js';

/** An entry of the log. It tells the whole event by itself, so that nothing else must be kept to read it. */
export interface LogDocument {
  /** The revision. */
  readonly _id: Revision;
  readonly resource: string;
  readonly type: LogEvent['type'];
  readonly key: string;
  /** Revision of the state before; 0 for none. */
  readonly previous: Revision;
  /** The new state's record; absent for DELETED, where it is the one before with another revision. */
  readonly bytes?: Uint8Array;
  /** The record of the state before. */
  readonly before?: Uint8Array;
  /** The replica that wrote it, and the number of its commit: together they tell whether a commit took place. */
  readonly writer: string;
  readonly batch: number;
  /** By the replica's clock, for people. */
  readonly time: Date;
}

/** The current state of an object: what people can read and query, and beside it the record. */
export interface StateDocument extends State {
  readonly _id: string;
}

/** The same without its key. */
export interface State {
  readonly _annex: { readonly revision: Revision; readonly bytes: Uint8Array };
  readonly [field: string]: unknown;
}

/** Small facts about the whole store: its format, what is compacted of each log, and which types have logs of their own. */
export interface MetaDocument {
  readonly _id: string;
  readonly version?: number;
  readonly revision?: Revision;
  /** When the revision was the newest one, by MongoDB's clock. */
  readonly at?: Date;
  readonly overrides?: readonly LogOverride[];
  /** Logs that must be brought up to the revisions of the types that move to them, before anything is written. */
  readonly pending?: readonly string[];
}

/** A type with a log other than the main one. */
export interface LogOverride {
  readonly resource: string;
  readonly log: string;
}

export const META = 'meta';
export const WRITERS = 'writers';

/** The log that orders all types that have none of their own. */
export const MAIN_LOG = '';

/** A database, and how to read it where nothing that was acknowledged may be missing. */
export interface Database {
  readonly db: Db;
  readonly latest: LatestReads;
}

/** Where a log is kept. */
export interface LogPlace extends Database {
  readonly name: string;
  /** The collection of its entries. A name without a dot, so that no type's collection is named alike. */
  readonly collection: string;
  /** Of the document in META that tells before which revision it is not kept. */
  readonly compactedId: string;
  /** Of the one with a revision and the time when it was the newest. */
  readonly markId: string;
}

export function logPlace({ db, latest }: Database, name: string): LogPlace {
  if (name === MAIN_LOG) return { db, latest, name, collection: 'log', compactedId: 'compacted', markId: 'mark' };
  return { db, latest, name, collection: `log.${name}`, compactedId: `compacted.${name}`, markId: `mark.${name}` };
}

export function entriesOf(place: LogPlace): Collection<LogDocument> {
  return place.db.collection<LogDocument>(place.collection);
}

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

export function eventOf(document: LogDocument): LogEvent {
  const { _id: revision, resource, key, type, previous: before } = document;
  const previous = before === 0 ? undefined : { key, revision: before, ...own(document.before, revision) };
  const object =
    type === 'DELETED' && previous !== undefined
      ? { ...previous, revision, bytes: withRevision(previous.bytes, revision) }
      : { key, revision, ...own(document.bytes, revision) };
  return { revision, resource, key, type, object, previous };
}

export function storedOf(document: Pick<StateDocument, '_id' | '_annex'>): StoredObject {
  return { key: document._id, revision: document._annex.revision, ...readRecord(document._annex.bytes) };
}

/** The current states of some objects of a type. */
export async function readStates(
  { db, latest }: Database,
  resource: string,
  keys: readonly string[],
): Promise<Map<string, StoredObject>> {
  const documents = await statesOf(db, resource)
    .find({ _id: { $in: [...keys] } }, latest.options)
    .project<Pick<StateDocument, '_id' | '_annex'>>({ _annex: 1 })
    .toArray();
  return new Map(documents.map((document) => [document._id, storedOf(document)]));
}

/** A copy: what the driver gives is a view of a whole reply, which would stay in memory with it. */
function own(record: Uint8Array | undefined, revision: Revision): Pick<StoredObject, 'bytes' | 'flags'> {
  if (record === undefined) {
    throw new StorageError('corrupt', `the log entry of revision ${revision} is damaged`, { revision });
  }
  return readRecord(copyOf(record));
}
