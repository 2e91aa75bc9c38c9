import type { ClientSession, Document, Long } from 'mongodb';
import type { Revision } from '../../interfaces.js';
import {
  batchesOf,
  DURABLE,
  FIRST_REVISION,
  META,
  metaOf,
  type BatchDocument,
  type LogPlace,
  type MetaDocument,
} from '../documents.js';
import { readAt, type Moment } from './time.js';

/** The decoding options of commands, which ignore those of the client. Cursor ids do not fit into JavaScript numbers. */
const DECODING = { promoteLongs: false, promoteBuffers: true } as const;

export interface Batches {
  readonly batches: readonly BatchDocument[];
  /** True if there are no more batches. */
  readonly ended: boolean;
  readonly moment: Moment;
}

export interface ReadOptions {
  readonly limit: number;
  /** Reads in the same session never see an earlier state than those before. Absent: reads the newest state. */
  readonly session?: ClientSession | undefined;
}

/** Returns the batches that start after a revision. */
export async function batchesAfter(place: LogPlace, after: Revision, options: ReadOptions): Promise<Batches> {
  const { limit, session } = options;
  const how = session === undefined ? place.latest.options : { readConcern: { level: 'majority' } };
  const command = {
    find: place.collection,
    filter: { _id: { $gt: after } },
    sort: { _id: 1 },
    limit,
    batchSize: limit,
  };
  const reply = await place.db.command({ ...command, ...how }, { ...DECODING, ...(session && { session }) });
  const { id, firstBatch } = reply['cursor'] as { id: Long | number; firstBatch: BatchDocument[] };
  const isOpen = id.toString() !== '0';
  // Replies are limited in size; the caller asks for the remaining batches again.
  if (isOpen) await place.db.command({ killCursors: place.collection, cursors: [id] }).catch(() => undefined);
  return { batches: firstBatch, ended: !isOpen && firstBatch.length < limit, moment: readAt(reply) };
}

/** Returns the first revision of the batch that contains a revision, or the revision itself if no batch contains it. */
export async function firstOf(place: LogPlace, revision: Revision, how: object = {}): Promise<Revision> {
  const found = await batchesOf(place)
    .find({ _id: { $lte: revision } }, { ...how, projection: { last: 1 } })
    .sort({ _id: -1 })
    .limit(1)
    .next();
  return found !== null && found.last >= revision ? found._id : revision;
}

/** Returns the name of the batch that contains a revision: its writer, and the writer's number of it. */
export async function batchWith(place: LogPlace, revision: Revision): Promise<string | undefined> {
  const options = { projection: { last: 1, writer: 1, batch: 1 }, sort: { _id: -1 }, ...place.latest.options } as const;
  const found = await batchesOf(place).findOne({ _id: { $lte: revision } }, options);
  return found !== null && found.last >= revision ? `${found.writer}/${found.batch}` : undefined;
}

/** Returns the newest batch, read so that nothing is missing that any replica acknowledged before; undefined for a new log. */
export async function newestBatch(place: LogPlace): Promise<Head | undefined> {
  const options = { sort: { _id: -1 }, projection: { last: 1, writer: 1 }, ...place.latest.options } as const;
  const found = await batchesOf(place).findOne({}, options);
  return found === null ? undefined : { first: found._id, last: found.last, writer: found.writer };
}

/** The range of revisions of a log's newest batch, and who wrote it. */
export interface Head {
  readonly first: Revision;
  readonly last: Revision;
  readonly writer: string;
}

/**
 * Returns the newest revision, which covers every write acknowledged by any replica before. Trimming leaves the newest batch, so the batch
 * found here is never a void one.
 */
export async function newestRevision(place: LogPlace): Promise<Revision> {
  return (await newestBatch(place))?.last ?? FIRST_REVISION;
}

/** Reads a document of META in its current state, and the time of that state. */
export async function readMeta(
  { db, latest }: LogPlace,
  _id: string,
): Promise<{ readonly document: MetaDocument | undefined; readonly moment: Moment }> {
  const reply = await db.command({ find: META, filter: { _id }, limit: 1, singleBatch: true, ...latest.options });
  const { firstBatch } = reply['cursor'] as { readonly firstBatch: readonly (MetaDocument & Document)[] };
  return { document: firstBatch[0], moment: readAt(reply) };
}

/** Reads the floor: batches at or below it may be gone, and must not be used. */
export async function readFloor(place: LogPlace): Promise<{ readonly floor: Revision; readonly moment: Moment }> {
  const { document, moment } = await readMeta(place, place.floorId);
  return { floor: document?.revision ?? FIRST_REVISION, moment };
}

/** Returns the revision up to which events are no longer delivered. */
export async function readOldest(place: LogPlace): Promise<Revision> {
  const [floor, base] = await Promise.all([readFloor(place), readMeta(place, place.baseId)]);
  return Math.max(floor.floor, base.document?.revision ?? 0);
}

/** Raises a revision in META, with a majority write. */
export async function growMeta({ db, name }: LogPlace, _id: string, revision: Revision): Promise<void> {
  await metaOf(db).updateOne(
    { _id },
    { $max: { revision }, $setOnInsert: { log: name } },
    { upsert: true, ...DURABLE },
  );
}

/** Returns for each replica the first revision up to which all of its batches are projected. */
export async function readProjected({ db, name }: LogPlace, how: object = {}): Promise<Map<string, Revision>> {
  const prefix = 'projected.';
  const found = await metaOf(db)
    .find({ _id: { $gt: prefix, $lt: 'projected/' }, log: name }, how)
    .toArray();
  return new Map(found.map(({ _id, revision = 0 }) => [_id.slice(prefix.length), revision]));
}
