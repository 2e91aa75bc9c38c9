import { randomUUID } from 'node:crypto';
import type { Db, MongoClient } from 'mongodb';
import type { Clock } from '../../../util/clock.js';
import { asError } from '../../../util/error-message.js';
import { storageName, type BackupHeader, type BackupObject } from '../../backup/format.js';
import type { RestoreTarget } from '../../backup/interfaces.js';
import { StorageError } from '../../errors.js';
import type { LogEvent, Revision } from '../../interfaces.js';
import { readRecord } from '../../record.js';
import { FORMAT } from '../assembly.js';
import { RESTORE, type RestoreDocument } from '../begun-restore.js';
import { connect, type ConnectionOptions, type Database } from '../connection/connection.js';
import { isDuplicateKey } from '../connection/failures.js';
import {
  batchesOf,
  DURABLE,
  HELD,
  LIVING,
  logPlace,
  MAIN_LOG,
  META,
  metaOf,
  REPLICAS,
  statesOf,
  WRITERS,
} from '../documents.js';
import { GONE_MILLIS } from '../layout.js';
import { growMeta } from '../log/read.js';
import { claimedBy } from '../owner-cluster.js';
import { project } from '../projection/write.js';

/** A restore that has not announced itself for this long is gone. */
const ABANDONED_MILLIS = 30_000;
const ANNOUNCED_MILLIS = 3_000;
/** The number of bulk writes in flight. */
const CONCURRENT = 4;
/** Collections that a server may leave in a database without objects. */
const EMPTY: ReadonlySet<string> = new Set([META, WRITERS, HELD, REPLICAS]);

/** An empty database that a backup is restored into. */
export class MongoRestore implements RestoreTarget {
  private store: (Database & { readonly client: MongoClient }) | undefined;
  private header: BackupHeader | undefined;
  private readonly token = randomUUID();
  private readonly writes = new Set<Promise<void>>();
  private failure: Error | undefined;
  private announced = 0;

  constructor(
    private readonly connection: ConnectionOptions,
    private readonly clock: Clock,
  ) {}

  async begin(header: BackupHeader): Promise<void> {
    this.header = header;
    this.store = await connect(this.connection);
    const { db } = this.store;
    await this.mark(db);
    const names = await collectionNames(db);
    for (const name of names) if (name !== META) await db.dropCollection(name);
    await metaOf(db).deleteMany({ _id: { $ne: RESTORE } }, DURABLE);
  }

  async put(objects: readonly BackupObject[]): Promise<void> {
    if (objects.length === 0) return;
    await this.announce();
    const events = objects.map(({ type, key, revision, record }): LogEvent => {
      const object = { key, revision, ...readRecord(record) };
      return { revision, resource: type, key, type: 'ADDED', object };
    });
    const write = project(this.db, [{ first: 0, writer: '', events }])
      .catch((error: unknown) => {
        this.failure ??= asError(error);
      })
      .finally(() => this.writes.delete(write));
    this.writes.add(write);
    if (this.writes.size >= CONCURRENT) await Promise.race(this.writes);
    this.throwFailure();
  }

  async finish(above: Revision): Promise<void> {
    await Promise.all(this.writes);
    this.throwFailure();
    const { db, header } = this;
    for (const type of header?.types ?? []) {
      const there = await statesOf(db, storageName(type)).countDocuments(LIVING);
      if (there !== type.count)
        throw this.refusal(
          `it has ${there} objects of ${storageName(type)} instead of ${type.count}: somebody else writes to it`,
        );
    }
    const place = logPlace(this.opened, MAIN_LOG);
    const [first, time] = [above + 1, new Date(this.clock.now())];
    await batchesOf(place).insertOne({ _id: first, last: first, writer: '', batch: 0, time, entries: [] }, DURABLE);
    await growMeta(place, place.baseId, first);
    if (header?.cluster !== undefined) await claimedBy(db, header.cluster);
    await metaOf(db).insertOne({ _id: 'format', version: FORMAT }, DURABLE);
    // From here on it can be started.
    const { deletedCount } = await this.marks.deleteOne({ _id: RESTORE, token: this.token }, DURABLE);
    if (deletedCount !== 1) throw this.takenOver();
  }

  async close(): Promise<void> {
    await Promise.all(this.writes);
    await this.store?.client.close();
  }

  /** Marks the database. Throws if it is not empty, or in use. */
  private async mark(db: Db): Promise<void> {
    const isFresh = (millis: number) => ({ $expr: { $gt: ['$seen', { $subtract: ['$$NOW', millis] }] } });
    const before = await this.marks.findOne({ _id: RESTORE });
    if (before === null) {
      await this.requireEmpty(db);
      try {
        await this.marks.insertOne({ _id: RESTORE, token: this.token, seen: new Date(this.clock.now()) }, DURABLE);
      } catch (error) {
        if (isDuplicateKey(error)) throw this.takenOver();
        throw error;
      }
    } else {
      if ((await this.marks.countDocuments({ _id: RESTORE, ...isFresh(ABANDONED_MILLIS) })) > 0)
        throw this.refusal(`another restore runs, or has run until less than ${ABANDONED_MILLIS / 1000} s ago`);
      const { matchedCount } = await this.marks.updateOne(
        { _id: RESTORE, token: before.token },
        { $set: { token: this.token } },
        DURABLE,
      );
      if (matchedCount !== 1) throw this.takenOver();
    }
    await this.announce();
    // A server that starts now finds the mark after it has announced itself, or is found here.
    try {
      if ((await db.collection(WRITERS).countDocuments(isFresh(GONE_MILLIS))) > 0)
        throw this.refusal(
          `a server uses it: stop it first (a killed one is still counted for ${GONE_MILLIS / 1000} s)`,
        );
      if (before === null) await this.requireEmpty(db);
    } catch (error) {
      if (before === null) await this.marks.deleteOne({ _id: RESTORE, token: this.token }, DURABLE);
      throw error;
    }
  }

  private async requireEmpty(db: Db): Promise<void> {
    for (const name of await collectionNames(db))
      if (!EMPTY.has(name) && (await db.collection(name).findOne({}, { projection: { _id: 1 } })) !== null)
        throw this.refusal(`it is not empty (${name}): restore into another database, or drop this one`);
  }

  /** Says that this restore goes on, and finds out whether another one has taken its place. */
  private async announce(): Promise<void> {
    const now = this.clock.monotonic();
    if (this.announced !== 0 && now - this.announced < ANNOUNCED_MILLIS) return;
    const mine = { _id: RESTORE, token: this.token };
    const { matchedCount } = await this.marks.updateOne(mine, { $currentDate: { seen: true } }, DURABLE);
    if (matchedCount !== 1) throw this.takenOver();
    this.announced = now;
  }

  private get opened(): Database {
    if (this.store === undefined) throw new StorageError('closed', 'the restore has not begun');
    return this.store;
  }

  private get db(): Db {
    return this.opened.db;
  }

  private get marks() {
    return this.db.collection<RestoreDocument>(META);
  }

  private throwFailure(): void {
    if (this.failure !== undefined) throw this.failure;
  }

  private takenOver(): StorageError {
    return this.refusal('another restore has begun');
  }

  private refusal(why: string): StorageError {
    return new StorageError('unusable', `cannot restore into the MongoDB database ${this.connection.database}: ${why}`);
  }
}

async function collectionNames(db: Db): Promise<string[]> {
  const all = await db.listCollections({ type: 'collection' }, { nameOnly: true }).toArray();
  return all.map(({ name }) => name).filter((name) => !name.startsWith('system.'));
}
