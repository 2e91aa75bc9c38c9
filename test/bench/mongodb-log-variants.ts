import { randomUUID } from 'node:crypto';
import {
  WriteConcern,
  type AnyBulkWriteOperation,
  type ChangeStream,
  type Collection,
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
import { systemClock } from '../../src/util/clock.js';
import { marksEach, Projector, report, type BatchDocument, type Variant } from './mongodb-log-projector.js';

export interface PrototypeOptions {
  readonly uri: string;
  readonly database: string;
  readonly variant: Variant;
  readonly resource: string;
}

const HEAD_BYTES = 32 << 20;
const MAX_OBJECT_BYTES = 8 << 20;
const BATCHES_READ = 50;
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
  const connected = await connect(connection);
  const { client } = connected;
  const place = logPlace(connected, MAIN_LOG);
  await prepare(place, resource, variant);
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

async function prepare({ db, collection, compactedId }: LogPlace, resource: string, variant: Variant): Promise<void> {
  for (const name of [collection, META, WRITERS, stateCollection(resource)])
    await db.createCollection(name).catch(() => undefined);
  const floor = { $setOnInsert: { revision: FIRST_REVISION } };
  await db.collection<MetaDocument>(META).updateOne({ _id: compactedId }, floor, { upsert: true });
  const pending = { partialFilterExpression: { projected: false } };
  if (marksEach(variant)) await db.collection<BatchDocument>(collection).createIndex({ projected: 1 }, pending, {});
}

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
