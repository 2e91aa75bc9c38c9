import type { BackupHeader, BackupObject } from '../backup/format.js';
import type { RestoreTarget } from '../backup/interfaces.js';
import { lockDirectory, type DirectoryLock } from '../directory-lock.js';
import type { Revision } from '../interfaces.js';
import { withRevision } from '../object-bytes.js';
import { readRecord, recordOf } from '../record.js';
import { beginFormat, beginRestore, finishFormat, finishRestore, prepareDirectory } from './directory.js';
import { headerLength, writeHeader } from './entry.js';
import { COMPACTED, Environment, numberValue, objectKey, type Operation } from './environment.js';

const BATCH_BYTES = 8 << 20;

/** An empty directory that a backup is restored into. */
export class EmbeddedRestore implements RestoreTarget {
  private lock: DirectoryLock | undefined;
  private environment: Environment | undefined;
  private operations: Operation[] = [];
  private bytes = 0;
  private time = 0;
  /** The revisions of the log's entries. */
  private readonly taken = new Set<Revision>();

  /** `next`: above all revisions of the backup, for objects whose revision another one has: several logs of MongoDB had them. */
  constructor(
    private readonly directory: string,
    private next: Revision,
  ) {}

  async begin({ time }: BackupHeader): Promise<void> {
    prepareDirectory(this.directory);
    this.lock = await lockDirectory(this.directory);
    beginRestore(this.directory);
    beginFormat(this.directory);
    this.environment = Environment.open(this.directory);
    this.time = Date.parse(time);
  }

  async put(objects: readonly BackupObject[]): Promise<void> {
    for (const object of objects) {
      this.add(object);
      if (this.bytes >= BATCH_BYTES) await this.commit();
    }
  }

  async finish(above: Revision): Promise<void> {
    const first = Math.max(above, this.next) + 1;
    this.operations.push({ table: 'meta', key: COMPACTED, value: first });
    await this.commit();
    await this.environment?.close();
    this.environment = undefined;
    finishFormat(this.directory);
    finishRestore(this.directory);
  }

  async close(): Promise<void> {
    await this.environment?.close();
    this.lock?.release();
  }

  private add(object: BackupObject): void {
    const { type: resource, key } = object;
    const { revision, record } = this.withOwnRevision(object);
    const entry = Buffer.allocUnsafeSlow(headerLength(resource, key) + record.length);
    entry.set(record, entry.length - record.length);
    writeHeader(entry, { type: 'ADDED', resource, key, previous: 0, time: this.time });
    this.operations.push(
      { table: 'log', revision, value: entry },
      { table: 'objects', key: objectKey(resource, key), value: numberValue(revision) },
    );
    this.bytes += entry.length;
  }

  private withOwnRevision({ revision, record }: BackupObject): Pick<BackupObject, 'revision' | 'record'> {
    if (!this.taken.has(revision)) {
      this.taken.add(revision);
      return { revision, record };
    }
    const state = readRecord(record);
    const next = ++this.next;
    return { revision: next, record: recordOf({ ...state, bytes: withRevision(state.bytes, next) }) };
  }

  private async commit(): Promise<void> {
    await this.environment?.commit(this.operations);
    this.operations = [];
    this.bytes = 0;
  }
}
