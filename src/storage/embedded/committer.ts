import { decodedForm } from '../encode.js';
import { StorageError } from '../errors.js';
import type { LogEvent, Revision, StoredObject, WriteRequest, WriteResult } from '../interfaces.js';
import { withRevision } from '../object-bytes.js';
import { encodeRecord, readRecord } from '../record.js';
import { yieldNow } from '../../scheduling/slicer.js';
import { encodeAuthor } from '../kept/authors.js';
import { headerLength, writeHeader } from './entry.js';
import { numberValue, objectKey, revisionKey, type Environment, type Operation } from './environment.js';
import { messageOf } from '../../util/error-message.js';

export interface CommitterOptions {
  readonly environment: Environment;
  /** Returns the time of an entry that is written now, unless an earlier one has a later time. */
  readonly now: () => number;
  readonly revision: Revision;
  /** The commit time of the newest entry: times never go back, even if the clock does. */
  readonly time: number;
  readonly maxObjectBytes: number;
  /** Reads a state that is known to exist. */
  read(key: string, revision: Revision): StoredObject;
  /** Called in order, after a batch is durable and before its writes are resolved. */
  committed(events: readonly LogEvent[]): void;
  /** Reports whether a deleted object can be brought back, so that its deletion has to be found. */
  keepsDeleted(resource: string, object: StoredObject): boolean;
  /** Removes some of the expired history; false if nothing was left to remove. */
  housekeep(): Promise<boolean>;
}

const MAX_BATCH_WRITES = 256;
const MAX_BATCH_BYTES = 4 << 20;
const MAX_WAITING = 20_000;

/** A write waiting for its commit. */
interface PendingWrite {
  readonly request: WriteRequest;
  resolve(result: WriteResult): void;
  reject(error: StorageError): void;
}

interface Batch {
  readonly operations: Operation[];
  readonly events: LogEvent[];
  /** The results of the writes, which they receive when the batch is durable. */
  readonly results: { readonly write: PendingWrite; readonly result: WriteResult }[];
  /** The states that the batch itself made; undefined if it deleted the object. */
  readonly changed: Map<string, StoredObject | undefined>;
  bytes: number;
}

/** A request to continue above the revision that `work` resolves with. */
interface Raise {
  readonly work: () => Promise<Revision>;
  readonly resolve: () => void;
  readonly reject: (error: StorageError) => void;
}

/** The single writer: takes all waiting writes, commits them together, and then takes those that arrived in the meantime. */
export class Committer {
  private waiting: PendingWrite[] = [];
  private running: Promise<void> | undefined;
  private housekeeping = false;
  private raises: Raise[] = [];
  private newest: Revision;
  private time: number;

  constructor(private readonly options: CommitterOptions) {
    this.newest = options.revision;
    this.time = options.time;
  }

  get revision(): Revision {
    return this.newest;
  }

  write(request: WriteRequest): Promise<WriteResult> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length >= MAX_WAITING) {
        reject(new StorageError('unavailable', `${this.waiting.length} writes are already waiting for the store`));
        return;
      }
      this.waiting.push({ request, resolve, reject });
      this.start();
    });
  }

  /** Removes history between commits, as long as there is some to remove. */
  requestHousekeeping(): void {
    this.housekeeping = true;
    this.start();
  }

  /** Runs some work between commits, and continues above the revision that it resolves with. */
  raise(work: () => Promise<Revision>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.raises.push({ work, resolve, reject });
      this.start();
    });
  }

  /** Runs some work between commits. */
  between(work: () => Promise<void>): Promise<void> {
    return this.raise(async () => {
      await work();
      return this.newest;
    });
  }

  /** Resolves when nothing is in progress. */
  async idle(): Promise<void> {
    while (this.running !== undefined) await this.running;
  }

  private start(): void {
    this.running ??= this.run();
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0 || this.housekeeping || this.raises.length > 0) {
      // Requests of the same turn of the event loop share a commit.
      await yieldNow();
      if (this.waiting.length > 0) await this.commitSome();
      for (const raise of this.raises.splice(0)) await this.runRaise(raise);
      if (this.housekeeping) {
        this.housekeeping = false;
        if (await this.options.housekeep().catch(() => false)) this.housekeeping = true;
      }
    }
    // In the same step as the last check of the queue: a later write starts another batch.
    this.running = undefined;
  }

  private async runRaise({ work, resolve, reject }: Raise): Promise<void> {
    try {
      this.newest = await work();
      resolve();
    } catch (error) {
      reject(new StorageError('unavailable', `the store could not write: ${messageOf(error)}`, { cause: error }));
    }
  }

  private async commitSome(): Promise<void> {
    const batch: Batch = { operations: [], events: [], results: [], changed: new Map(), bytes: 0 };
    this.options.environment.refresh();
    let taken = 0;
    while (taken < this.waiting.length && batch.events.length < MAX_BATCH_WRITES && batch.bytes < MAX_BATCH_BYTES) {
      const write = this.waiting[taken++];
      if (write !== undefined) this.add(batch, write);
    }
    this.waiting.splice(0, taken);
    if (batch.events.length === 0) return;
    try {
      await this.options.environment.commit(batch.operations);
    } catch (error) {
      if (!this.wasCommitted(batch)) {
        this.fail(batch, error);
        return;
      }
    }
    this.newest = batch.events.at(-1)?.revision ?? this.newest;
    this.options.committed(batch.events);
    for (const { write, result } of batch.results) write.resolve(result);
  }

  /** Checks a write against the state that the batch so far leads to, and adds its operations. */
  private add(batch: Batch, write: PendingWrite): void {
    try {
      const { resource, key, expected, value } = write.request;
      const id = objectKey(resource, key);
      const name = `${resource}\0${key}`;
      const revision = this.newest + batch.events.length + 1;
      const current = batch.changed.has(name) ? batch.changed.get(name) : this.current(key, id);
      if ((current?.revision ?? 0) !== expected) {
        const result: WriteResult = { outcome: 'conflict', current };
        // No caller sees a state of this batch before it is durable.
        if (batch.changed.has(name)) batch.results.push({ write, result });
        else write.resolve(result);
        return;
      }
      if (value === undefined) {
        if (current === undefined) {
          write.resolve({ outcome: 'conflict', current: undefined });
          return;
        }
        this.addEvent(batch, write, {
          type: 'DELETED',
          entry: this.entry(write, 'DELETED', current.revision, revision).entry,
          object: { ...current, revision, bytes: withRevision(current.bytes, revision) },
          previous: current,
        });
        return;
      }
      const type = current === undefined ? 'ADDED' : 'MODIFIED';
      const { entry, offset } = this.entry(write, type, expected, revision);
      const state = readRecord(entry, offset);
      const { bytes } = state;
      if (bytes.length > this.options.maxObjectBytes) {
        throw new StorageError(
          'object-too-large',
          `the object is ${bytes.length} bytes; the maximum is ${this.options.maxObjectBytes} bytes`,
        );
      }
      const object: StoredObject = { key, revision, ...state, ...decodedForm(value) };
      this.addEvent(batch, write, { type, entry, object, previous: current });
    } catch (error) {
      write.reject(
        error instanceof StorageError ? error : new StorageError('unavailable', messageOf(error), { cause: error }),
      );
    }
  }

  private current(key: string, id: Buffer): StoredObject | undefined {
    const revision = this.options.environment.objectRevision(id);
    return revision === 0 ? undefined : this.options.read(key, revision);
  }

  /** Returns the log entry of a write, and the offset of its record. */
  private entry(
    { request }: PendingWrite,
    type: LogEvent['type'],
    previous: Revision,
    revision: Revision,
  ): { readonly entry: Buffer; readonly offset: number } {
    const { resource, key, value } = request;
    const author = request.author && encodeAuthor(request.author);
    const offset = headerLength(resource, key, author);
    const entry = value === undefined ? Buffer.allocUnsafeSlow(offset) : encodeRecord(value, revision, offset);
    this.time = Math.max(this.time, this.options.now());
    writeHeader(entry, { type, resource, key, author, previous, time: this.time });
    return { entry, offset };
  }

  private addEvent(
    batch: Batch,
    write: PendingWrite,
    change: { type: LogEvent['type']; entry: Buffer; object: StoredObject; previous: StoredObject | undefined },
  ): void {
    const { resource, key } = write.request;
    const { type, entry, object, previous } = change;
    const deleted = type === 'DELETED';
    batch.operations.push({ table: 'log', revision: object.revision, value: entry });
    batch.operations.push({
      table: 'objects',
      key: objectKey(resource, key),
      value: deleted ? undefined : numberValue(object.revision),
    });
    if (deleted) this.addDeletion(batch, resource, object);
    batch.events.push({ revision: object.revision, resource, key, type, object, previous });
    batch.changed.set(`${resource}\0${key}`, deleted ? undefined : object);
    batch.results.push({ write, result: { outcome: 'committed', object } });
    batch.bytes += entry.length;
  }

  /** Makes a deletion the newest one of its object. One that is not kept hides those before. */
  private addDeletion(batch: Batch, resource: string, object: StoredObject): void {
    const key = objectKey(resource, object.key);
    const isKept = this.options.keepsDeleted(resource, object);
    if (!isKept && this.options.environment.row('deleted', key) === undefined) return;
    batch.operations.push({ table: 'deleted', key, value: isKept ? revisionKey(object.revision) : undefined });
  }

  /** Reports whether a failed commit took effect: then its last log entry exists. */
  private wasCommitted(batch: Batch): boolean {
    const { environment } = this.options;
    environment.refresh();
    const last = batch.operations.findLast((operation) => operation.table === 'log');
    if (last?.table !== 'log' || last.value === undefined) return false;
    return environment.entry(last.revision)?.equals(last.value) === true;
  }

  private fail(batch: Batch, error: unknown): void {
    const failure = new StorageError('unavailable', `the store could not write: ${messageOf(error)}`, {
      cause: error,
    });
    for (const { write } of batch.results) write.reject(failure);
  }
}
