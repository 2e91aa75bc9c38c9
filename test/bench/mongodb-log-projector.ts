import { MongoBulkWriteError, Timestamp, type AnyBulkWriteOperation, type Collection, type Document } from 'mongodb';
import type { Revision } from '../../src/storage/interfaces.js';
import type { Append } from '../../src/storage/mongodb/commit/appender.js';
import {
  META,
  stateCollection,
  type LogDocument,
  type LogPlace,
  type MetaDocument,
  type StateDocument,
} from '../../src/storage/mongodb/documents.js';
import { sleep, systemClock } from '../../src/util/clock.js';

/**
 * - public: a transaction by the driver's public API.
 * - at-once, by-100ms: one insert; the projection is written at once, or what gathered in 100 ms. One document says up to where all
 *   batches of the replica are projected.
 * - marks: as by-100ms, with a mark in each document of the log instead.
 * - deadlines: likewise, and what is new is not inserted: all is upserted, by a pipeline that fails after a deadline.
 * - bare: one insert, and no projection at all.
 */
export const VARIANTS = ['public', 'at-once', 'by-100ms', 'marks', 'deadlines', 'bare'] as const;
export type Variant = (typeof VARIANTS)[number];

/** A document of the log: one batch. */
export interface BatchDocument {
  readonly _id: Revision;
  readonly writer: string;
  readonly batch: number;
  readonly time: Date;
  readonly entries: readonly Omit<LogDocument, '_id' | 'writer' | 'batch' | 'time'>[];
  readonly projected?: false;
}

const HALF_WINDOW_SECONDS = 150;
const PROJECTION_MILLIS = 100;
const REVISION = { '_annex.revision': 1 };

export const report = (error: unknown): void => console.error(error);

interface Projected {
  /** There was no such object before. */
  readonly isNew: boolean;
  readonly document: Document;
}

/** Brings the projection up to what was committed, the newest state of each object. */
export class Projector {
  private states = new Map<string, Map<string, Projected>>();
  private firsts: Revision[] = [];
  private running: Promise<void> | undefined;

  constructor(
    private readonly place: LogPlace,
    private readonly variant: Variant,
    private readonly writer: string,
  ) {}

  take({ first, changes }: Append): void {
    this.firsts.push(first);
    changes.forEach(({ resource, key, expected, state }, i) => {
      let states = this.states.get(resource);
      if (states === undefined) this.states.set(resource, (states = new Map<string, Projected>()));
      const isNew = expected === 0 || states.get(key)?.isNew === true;
      states.set(key, { isNew, document: state ?? { deleted: true, _annex: { revision: first + i } } });
    });
    this.running ??= this.run().catch(report);
  }

  async settled(): Promise<void> {
    while (this.running !== undefined) await this.running;
  }

  /** Throws where the projection is behind what a writer has committed. */
  async verify(resource: string, writer: string): Promise<void> {
    const { db, collection } = this.place;
    const shown = new Map<string, Revision>();
    const states = db.collection<StateDocument>(stateCollection(resource)).find({}, { projection: REVISION });
    for await (const { _id, _annex } of states) shown.set(_id, _annex.revision);
    const batches = db.collection<BatchDocument>(collection).find({ writer }, { projection: { 'entries.key': 1 } });
    for await (const { _id: first, entries } of batches)
      for (const [i, { key }] of entries.entries())
        if ((shown.get(key) ?? 0) < first + i) throw new Error(`${key} of revision ${first + i} is not projected`);
  }

  private async run(): Promise<void> {
    while (this.firsts.length > 0) {
      if (this.variant !== 'at-once') await sleep(systemClock, PROJECTION_MILLIS);
      const { states, firsts } = this;
      this.states = new Map();
      this.firsts = [];
      const deadline = this.variant === 'deadlines' ? await this.deadline() : undefined;
      for (const [resource, some] of states) await this.project(resource, some, deadline);
      await this.mark(firsts);
    }
    this.running = undefined;
  }

  private async mark(firsts: readonly Revision[]): Promise<void> {
    const { db, collection } = this.place;
    if (!marksEach(this.variant)) {
      const projected = { $max: { revision: Math.max(...firsts) } };
      await db
        .collection<MetaDocument>(META)
        .updateOne({ _id: `projected.${this.writer}` }, projected, { upsert: true });
      return;
    }
    const these = { _id: { $in: [...firsts] } };
    await db.collection<BatchDocument>(collection).updateMany(these, { $unset: { projected: 1 } });
  }

  /** Reads the floor, and until when what was read before may be projected. */
  private async deadline(): Promise<Timestamp> {
    const { db, compactedId } = this.place;
    const command = { find: META, filter: { _id: compactedId }, limit: 1, singleBatch: true };
    const reply = await db.command({ ...command, readConcern: { level: 'majority' } });
    const at = reply['operationTime'] as Timestamp;
    return new Timestamp({ t: at.t + HALF_WINDOW_SECONDS, i: 0 });
  }

  private async project(resource: string, states: Map<string, Projected>, deadline?: Timestamp): Promise<void> {
    const collection = this.place.db.collection<StateDocument>(stateCollection(resource));
    const all = [...states].map(([_id, { isNew, document }]) => {
      const replacement = replacementOf(_id, document, deadline);
      if (!isNew || deadline !== undefined) return { replacement, first: replacement };
      return { replacement, first: { insertOne: { document: { _id, ...document } as StateDocument } } };
    });
    const there = await failedOf(
      collection,
      all.map(({ first }) => first),
    );
    if (there.length === 0) return;
    // A newer state is there, or the tombstone of an earlier object.
    await failedOf(
      collection,
      there.flatMap((i) => all.slice(i, i + 1).map(({ replacement }) => replacement)),
    );
  }
}

/** Does what it can; tells of which operations a document was in the way. */
async function failedOf(
  collection: Collection<StateDocument>,
  operations: AnyBulkWriteOperation<StateDocument>[],
): Promise<number[]> {
  try {
    await collection.bulkWrite(operations, { ordered: false });
    return [];
  } catch (error) {
    const failed = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : [];
    if (failed.length === 0 || !failed.every(isDuplicate)) throw error;
    return failed.map(({ index }) => index);
  }
}

/** Changes only what is older; where there is something newer, it fails as a duplicate, or, with a deadline, does nothing. */
function replacementOf(_id: string, state: Document, deadline?: Timestamp): AnyBulkWriteOperation<StateDocument> {
  const { revision } = state['_annex'] as { readonly revision: Revision };
  if (deadline === undefined) {
    const filter = { _id, '_annex.revision': { $lt: revision } };
    return { replaceOne: { filter, replacement: state, upsert: true } };
  }
  const late = { $toInt: { $concat: ['late: ', '$_id'] } };
  const newest = { $cond: [{ $gte: ['$_annex.revision', revision] }, '$$ROOT', { $literal: { _id, ...state } }] };
  const update = [{ $replaceWith: { $cond: [{ $lt: ['$$CLUSTER_TIME', deadline] }, newest, late] } }];
  return { updateOne: { filter: { _id }, update, upsert: true } };
}

export const marksEach = (variant: Variant): boolean => variant === 'marks' || variant === 'deadlines';

const isDuplicate = ({ code }: { readonly code: number }): boolean => code === 11000;
