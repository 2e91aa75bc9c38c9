import { randomUUID } from 'node:crypto';
import {
  MongoBulkWriteError,
  Timestamp,
  WriteConcern,
  type AnyBulkWriteOperation,
  type ChangeStream,
  type Collection,
  type Document,
  type MongoClient,
  type TransactionOptions,
} from 'mongodb';
import type { LogEvent, Revision, WriteRequest, WriteResult } from '../../src/storage/interfaces.js';
import type { Append, Appender, AppendOutcome } from '../../src/storage/mongodb/commit/appender.js';
import { Committer } from '../../src/storage/mongodb/commit/committer.js';
import { WriterSession } from '../../src/storage/mongodb/commit/writer-session.js';
import { connect, newClient } from '../../src/storage/mongodb/connection.js';
import {
  eventOf,
  FIRST_REVISION,
  logPlace,
  MAIN_LOG,
  META,
  stateCollection,
  WRITERS,
  type LogDocument,
  type LogPlace,
  type MetaDocument,
  type StateDocument,
} from '../../src/storage/mongodb/documents.js';
import { isDuplicateKey } from '../../src/storage/mongodb/failures.js';
import { LogFollower } from '../../src/storage/mongodb/follower.js';
import { Heads } from '../../src/storage/mongodb/heads.js';
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

export interface PrototypeOptions {
  readonly uri: string;
  readonly database: string;
  readonly variant: Variant;
  readonly resource: string;
}

/** A document of the log: one batch. */
interface BatchDocument {
  readonly _id: Revision;
  readonly writer: string;
  readonly batch: number;
  readonly time: Date;
  readonly entries: readonly Omit<LogDocument, '_id' | 'writer' | 'batch' | 'time'>[];
  readonly projected?: false;
}

const HEAD_BYTES = 32 << 20;
const MAX_OBJECT_BYTES = 8 << 20;
const HALF_WINDOW_SECONDS = 150;
const PROJECTION_MILLIS = 100;
const BATCHES_READ = 50;
const REVISION = { '_annex.revision': 1 };
const IMMUTABLE_FIELD = 66;
const MAJORITY: TransactionOptions = {
  readConcern: { level: 'snapshot' },
  writeConcern: new WriteConcern('majority', undefined, true),
};

export interface Prototype {
  write(request: WriteRequest): Promise<WriteResult>;
  settled(): Promise<void>;
  close(): Promise<void>;
}

export async function openPrototype({ uri, database, variant, resource }: PrototypeOptions): Promise<Prototype> {
  const connection = { uri, database, selectMillis: 5_000 };
  const { client, db } = await connect(connection);
  const place = logPlace(db, MAIN_LOG);
  const log = db.collection<BatchDocument>(place.collection);
  for (const name of [place.collection, META, WRITERS, stateCollection(resource)])
    await db.createCollection(name).catch(() => undefined);
  const meta = db.collection<MetaDocument>(META);
  const floor = { $setOnInsert: { revision: FIRST_REVISION } };
  await meta.updateOne({ _id: place.compactedId }, floor, { upsert: true });
  await log.createIndex({ projected: 1 }, { partialFilterExpression: { projected: false } }, {});
  const writer = randomUUID();
  const heads = new Heads(HEAD_BYTES);
  const session = new WriterSession({
    client,
    database,
    clock: systemClock,
    id: writer,
    log: MAIN_LOG,
    layout: '',
    connect: () => newClient(connection),
  });
  await session.announce();
  const projector = variant === 'public' || variant === 'bare' ? undefined : new Projector(place, variant, writer);
  const appender =
    variant === 'public' ? new PublicAppender(client, place) : new LogAppender(place, projector, marksEach(variant));
  const follower =
    variant === 'public'
      ? new LogFollower({
          client,
          place,
          clock: systemClock,
          heads,
          revision: FIRST_REVISION,
          writer,
          oldest: () => FIRST_REVISION,
          failed: report,
        })
      : new BatchFollower(place, heads, writer);
  follower.start();
  const committer = new Committer({
    place,
    clock: systemClock,
    appender: appender as unknown as Appender,
    follower: follower as unknown as LogFollower,
    heads,
    session,
    writer,
    maxObjectBytes: MAX_OBJECT_BYTES,
    writeMillis: 20_000,
    startedOver: () => undefined,
    ensureCollection: () => Promise.resolve(),
  });
  return {
    write: (request) => committer.write(request),
    settled: async () => projector?.settled(),
    close: async () => {
      await committer.idle();
      committer.stop();
      await projector?.settled();
      if (projector !== undefined) await projector.verify(resource, writer);
      await follower.stop();
      await session.close();
      await client.close();
    },
  };
}

const report = (error: unknown): void => console.error(error);

/** Today's transaction, by what the driver offers to everybody. */
class PublicAppender {
  constructor(
    private readonly client: MongoClient,
    private readonly place: LogPlace,
  ) {}

  async append(append: Append, mayCommit: () => boolean): Promise<AppendOutcome> {
    const { db, collection, compactedId } = this.place;
    const session = this.client.startSession();
    try {
      session.startTransaction(MAJORITY);
      const fenced = { _id: compactedId, revision: { $gte: append.first } };
      await db.collection<MetaDocument>(META).updateOne(fenced, { $set: { _id: 'overtaken' } }, { session });
      await db.collection<LogDocument>(collection).insertMany([...append.log], { session });
      for (const [resource, operations] of byResource(append)) {
        const result = await db
          .collection<StateDocument>(stateCollection(resource))
          .bulkWrite(operations, { session, ordered: true });
        const done = result.insertedCount + result.matchedCount + result.deletedCount;
        if (done !== operations.length) {
          await session.abortTransaction();
          return { outcome: 'mismatch' };
        }
      }
      if (!mayCommit()) {
        await session.abortTransaction();
        return { outcome: 'withheld' };
      }
      await session.commitTransaction();
      return { outcome: 'committed' };
    } catch (error) {
      if (session.inTransaction()) await session.abortTransaction().catch(() => undefined);
      if (isDuplicateKey(error)) return { outcome: 'stale' };
      if ((error as { code?: unknown }).code === IMMUTABLE_FIELD) return { outcome: 'overtaken' };
      return { outcome: 'busy', error };
    } finally {
      await session.endSession();
    }
  }
}

/** The last state of each object that a batch changes. */
function byResource({ changes }: Append): Map<string, AnyBulkWriteOperation<StateDocument>[]> {
  const groups = new Map<string, AnyBulkWriteOperation<StateDocument>[]>();
  for (const { resource, key, expected, state } of changes) {
    const filter = { _id: key, '_annex.revision': expected };
    const operation: AnyBulkWriteOperation<StateDocument> =
      state === undefined
        ? { deleteOne: { filter } }
        : expected === 0
          ? { insertOne: { document: { _id: key, ...state } } }
          : { replaceOne: { filter, replacement: state } };
    const group = groups.get(resource);
    if (group === undefined) groups.set(resource, [operation]);
    else group.push(operation);
  }
  return groups;
}

/** A commit is one insert. */
class LogAppender {
  constructor(
    private readonly place: LogPlace,
    private readonly projector: Projector | undefined,
    private readonly marked: boolean,
  ) {}

  async append(append: Append, mayCommit: () => boolean): Promise<AppendOutcome> {
    const [head] = append.log;
    if (head === undefined || !mayCommit()) return { outcome: 'withheld' };
    const entries = append.log.map(({ _id, writer: _w, batch: _b, time: _t, ...entry }) => entry);
    const { writer, batch, time } = head;
    const pending = this.marked ? { projected: false as const } : {};
    const document: BatchDocument = { _id: append.first, writer, batch, time, entries, ...pending };
    try {
      await this.place.db.collection<BatchDocument>(this.place.collection).insertOne(document);
    } catch (error) {
      return isDuplicateKey(error) ? { outcome: 'stale' } : { outcome: 'unknown', error };
    }
    this.projector?.take(append);
    return { outcome: 'committed' };
  }
}

interface Projected {
  /** There was no such object before. */
  readonly isNew: boolean;
  readonly document: Document;
}

/** Brings the projection up to what was committed, the newest state of each object. */
class Projector {
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

const marksEach = (variant: Variant): boolean => variant === 'marks' || variant === 'deadlines';

const isDuplicate = ({ code }: { readonly code: number }): boolean => code === 11000;

/** Follows a log of batches; what the committer asks of a follower, and no more. */
class BatchFollower {
  revision: Revision = FIRST_REVISION;
  lastForeign = -Infinity;
  lastForeignEntries = 0;
  private stream: ChangeStream<BatchDocument> | undefined;
  private following: Promise<void> | undefined;
  private readonly waiters = new Set<() => void>();

  constructor(
    private readonly place: LogPlace,
    private readonly heads: Heads,
    private readonly writer: string,
  ) {}

  start(): void {
    const mine = { operationType: 'insert', 'fullDocument.writer': { $ne: this.writer } };
    const pipeline = [{ $match: mine }, { $project: { fullDocument: 1 } }];
    this.stream = this.log().watch(pipeline, { maxAwaitTimeMS: 1_000 });
    this.following = this.follow(this.stream);
  }

  async stop(): Promise<void> {
    await this.stream?.close();
    await this.following;
  }

  take(events: readonly LogEvent[]): boolean {
    for (const event of events) {
      if (event.revision <= this.revision) continue;
      if (event.revision > this.revision + 1) return false;
      this.heads.apply(event);
      this.revision = event.revision;
    }
    for (const waiter of [...this.waiters]) waiter();
    return true;
  }

  async catchUp(): Promise<void> {
    for (;;) {
      const found = await this.log()
        .find({ _id: { $gt: this.revision } })
        .sort({ _id: 1 })
        .limit(BATCHES_READ)
        .toArray();
      for (const batch of found) this.receive(batch);
      if (found.length < BATCHES_READ) return;
    }
  }

  overtaken(): Promise<void> {
    return this.catchUp();
  }

  async progress(after: Revision, millis: number): Promise<void> {
    if (this.revision > after) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        timer.cancel();
        this.waiters.delete(done);
        resolve();
      };
      const timer = systemClock.setTimer(millis, done);
      this.waiters.add(done);
    });
  }

  private log(): Collection<BatchDocument> {
    return this.place.db.collection<BatchDocument>(this.place.collection);
  }

  private async follow(stream: ChangeStream<BatchDocument>): Promise<void> {
    try {
      for await (const change of stream) {
        if (change.operationType === 'insert' && !this.receive(change.fullDocument)) await this.catchUp();
      }
    } catch (error) {
      if (!stream.closed) report(error);
    }
  }

  private receive(document: BatchDocument): boolean {
    const { _id: first, writer, batch, time, entries } = document;
    if (writer !== this.writer && first > this.revision) {
      this.lastForeign = systemClock.monotonic();
      this.lastForeignEntries = entries.length;
    }
    return this.take(entries.map((entry, i) => eventOf({ _id: first + i, writer, batch, time, ...entry })));
  }
}
