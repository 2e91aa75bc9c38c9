import { statSync } from 'node:fs';
import { open, type Database, type RootDatabase, type Transaction } from 'lmdb';
import type { BackupHeader, BackupObject } from '../backup/format.js';
import { typeOf } from '../backup/format.js';
import type { BackupSource } from '../backup/interfaces.js';
import { isInUse, isLockedHere, lockDirectory, type DirectoryLock } from '../directory-lock.js';
import { StorageError } from '../errors.js';
import type { Revision } from '../interfaces.js';
import { isLogIdentity } from '../log-identity.js';
import { messageOf } from '../../util/error-message.js';
import type { Clock } from '../../util/clock.js';
import { checkDirectory, dataFile, exists } from './directory.js';
import { isIntact, readHeader } from './entry.js';
import { COMPACTED, FIRST_REVISION, keyRevision, revisionKey, TABLES } from './environment.js';

/** The number of objects read at once. */
const BATCH = 500;
const MIN_GROWTH = 1 << 30;

interface Tables {
  readonly objects: Database<Buffer, Buffer>;
  readonly log: Database<Buffer, Buffer>;
  readonly meta: Database<Buffer, Buffer>;
}

export interface SnapshotOptions {
  readonly directory: string;
  readonly clock: Clock;
  /** Reports whether objects of a type are wanted. */
  wants(type: string): boolean;
}

/**
 * The store in a directory at the revision at which it was opened, for another process than the server, which goes on writing. LMDB keeps
 * the pages of a transaction that reads, so the server's file grows while a snapshot is open; a snapshot that makes it grow by more than
 * its size (and by at least 1 GiB) ends with an error. The pages are used again afterwards.
 */
export class EmbeddedSnapshot implements BackupSource {
  readonly header: BackupHeader;
  private readonly sizeAtStart: number;

  private constructor(
    private readonly options: SnapshotOptions,
    private readonly lock: DirectoryLock | undefined,
    private readonly root: RootDatabase<Buffer, Buffer>,
    private readonly tables: Tables,
    private readonly transaction: Transaction,
  ) {
    this.sizeAtStart = this.size();
    const time = new Date(options.clock.now()).toISOString();
    this.header = { revision: this.revision(), types: this.count(), time };
  }

  static async open(options: SnapshotOptions): Promise<EmbeddedSnapshot> {
    const { directory } = options;
    checkDirectory(directory);
    if (!exists(directory)) throw new StorageError('unusable', `${directory} has no store of Annex`);
    const lock = await lockUnlessRunning(directory);
    try {
      const root = open<Buffer, Buffer>(directory, { ...TABLES, noSubdir: false, maxDbs: 8, readOnly: true });
      const table = (name: string): Database<Buffer, Buffer> => root.openDB<Buffer, Buffer>(name, TABLES);
      // Opening a table ends the transaction that reads.
      const tables = { objects: table('objects'), log: table('log'), meta: table('meta') };
      return new EmbeddedSnapshot(options, lock, root, tables, root.useReadTransaction());
    } catch (error) {
      lock?.release();
      throw new StorageError('unusable', `the data directory ${directory} cannot be read: ${messageOf(error)}`);
    }
  }

  async *objects(): AsyncGenerator<readonly BackupObject[], void, undefined> {
    for (let start: Buffer | undefined; ;) {
      const batch: BackupObject[] = [];
      let last: Buffer | undefined;
      let read = 0;
      for (const { key: id, value } of this.range(start, BATCH)) {
        [last, read] = [id, read + 1];
        const end = id.indexOf(0);
        const type = id.toString('utf8', 0, end);
        if (!this.isWanted(type)) continue;
        batch.push(this.object(type, id.toString('utf8', end + 1), value.readDoubleBE(0)));
      }
      this.limitGrowth();
      yield await Promise.resolve(batch);
      if (read < BATCH || last === undefined) return;
      start = Buffer.concat([last, Buffer.from([0])]);
    }
  }

  async close(): Promise<void> {
    this.transaction.done();
    await this.root.close();
    this.lock?.release();
  }

  private object(type: string, key: string, revision: Revision): BackupObject {
    const entry = this.tables.log.get(revisionKey(revision), { transaction: this.transaction });
    if (entry === undefined || !isIntact(entry)) {
      const what = `${type} ${key} is damaged in the store: delete it, or restore it from an earlier backup`;
      throw new StorageError('corrupt', `${what} (annex doctor --verify-store lists all such objects)`, { revision });
    }
    return { type, key, revision, record: entry.subarray(readHeader(entry, revision).offset) };
  }

  private revision(): Revision {
    const { transaction } = this;
    const { meta, log } = this.tables;
    const compacted = meta.get(Buffer.from(COMPACTED), { transaction })?.readDoubleBE(0) ?? FIRST_REVISION;
    for (const key of log.getKeys({ reverse: true, limit: 1, transaction }))
      return Math.max(keyRevision(key), compacted);
    return compacted;
  }

  private count(): BackupHeader['types'] {
    const counts = new Map<string, number>();
    for (const id of this.tables.objects.getKeys({ transaction: this.transaction })) {
      const type = id.toString('utf8', 0, id.indexOf(0));
      if (this.isWanted(type)) counts.set(type, (counts.get(type) ?? 0) + 1);
    }
    return [...counts].map(([type, count]) => typeOf(type, count));
  }

  private range(start: Buffer | undefined, limit: number): Iterable<{ readonly key: Buffer; readonly value: Buffer }> {
    const { transaction } = this;
    return this.tables.objects.getRange({ ...(start !== undefined && { start }), limit, transaction });
  }

  /** A restored store is another one, so it gets another identity. */
  private isWanted(type: string): boolean {
    return !isLogIdentity(type) && this.options.wants(type);
  }

  private limitGrowth(): void {
    const growth = this.size() - this.sizeAtStart;
    if (growth <= Math.max(MIN_GROWTH, this.sizeAtStart)) return;
    throw new StorageError(
      'unavailable',
      `the store has grown by ${Math.round(growth / 2 ** 20)} MiB while it was read, because its old pages are kept for that time: ` +
        'write the backup to a faster disk, or when less is written to the store',
    );
  }

  private size(): number {
    return statSync(dataFile(this.options.directory)).size;
  }
}

/** Locks the directory of a server that does not run. Throws if one runs where LMDB could not tell this process from it. */
async function lockUnlessRunning(directory: string): Promise<DirectoryLock | undefined> {
  try {
    return await lockDirectory(directory);
  } catch (error) {
    if (!isInUse(error)) throw error;
    if (isLockedHere(directory)) return undefined;
    throw new StorageError(
      'unusable',
      `the server that uses ${directory} runs in another container: run this command there, for example with kubectl exec`,
    );
  }
}
