import { StorageError } from '../../errors.js';
import { decodedForm } from '../../encode.js';
import type { LogEvent, Revision, StoredObject, WriteRequest, WriteResult } from '../../interfaces.js';
import { withRevision } from '../../object-bytes.js';
import { encodeRecord, readRecord, recordOf, UNCHECKED } from '../../record.js';
import type { Append, StateChange } from './appender.js';
import type { LogDocument } from '../documents.js';
import { headId, type Heads } from '../heads.js';
import { readableForm } from '../readable.js';

/** A write that waits for its commit; `raw` bytes stand in for its value in tests of corruption. */
export interface PendingWrite {
  readonly request: WriteRequest;
  readonly raw: Uint8Array | undefined;
  /** Monotonic milliseconds after which it is given up. */
  readonly deadline: number;
  /** The state must be read even where the object is expected not to exist: a guess was wrong. */
  verify: boolean;
  resolve(result: WriteResult): void;
  reject(error: StorageError): void;
}

export interface BatchOptions {
  /** The newest revision that is known; the batch follows it. */
  readonly base: Revision;
  readonly heads: Heads;
  /** What was found out for the batch, however much of it the heads have forgotten again. */
  readonly found: ReadonlyMap<string, StoredObject | undefined>;
  readonly writer: string;
  readonly number: number;
  readonly time: Date;
  readonly maxObjectBytes: number;
  /** Without the form for people, which MongoDB would not take. */
  readonly bare: boolean;
}

/** Writes that are committed together: checked one after the other against the state that those before lead to. */
export class Batch implements Append {
  readonly log: LogDocument[] = [];
  readonly changes: StateChange[] = [];
  readonly events: LogEvent[] = [];
  /** Those that the commit decides, also conflicts with what it makes. */
  readonly writes: PendingWrite[] = [];
  private readonly results: WriteResult[] = [];
  /** States that the batch itself makes; undefined: it deletes the object. */
  private readonly made = new Map<string, StoredObject | undefined>();

  constructor(private readonly options: BatchOptions) {}

  get first(): Revision {
    return this.options.base + 1;
  }

  get number(): number {
    return this.options.number;
  }

  /** The commit is durable: the writers are told. */
  resolve(): void {
    this.writes.forEach((write, i) => {
      const result = this.results[i];
      if (result !== undefined) write.resolve(result);
    });
  }

  add(write: PendingWrite): void {
    const { resource, key, expected, value } = write.request;
    const id = headId(resource, key);
    const current = this.made.has(id) ? this.made.get(id) : this.known(id);
    if ((current?.revision ?? 0) !== expected) {
      const result: WriteResult = { outcome: 'conflict', current };
      // A state of this batch is told to nobody before it is durable.
      if (this.made.has(id)) this.decide(write, result);
      else write.resolve(result);
      return;
    }
    const revision = this.first + this.events.length;
    if (value === undefined && write.raw === undefined) {
      if (current === undefined) {
        write.resolve({ outcome: 'conflict', current });
        return;
      }
      const bytes = withRevision(current.bytes, revision);
      const object: StoredObject = { ...current, revision, bytes };
      this.addEvent(write, { revision, resource, key, type: 'DELETED', object, previous: current });
      return;
    }
    const record =
      write.raw === undefined
        ? value && encodeRecord(value, revision)
        : recordOf({ bytes: write.raw, flags: UNCHECKED });
    if (record === undefined) return;
    const content = readRecord(record);
    if (content.bytes.length > this.options.maxObjectBytes) {
      write.reject(tooLarge(content.bytes.length, this.options.maxObjectBytes));
      return;
    }
    const object: StoredObject = {
      key,
      revision,
      ...content,
      ...(write.raw === undefined ? decodedForm(value) : undefined),
    };
    const type = current === undefined ? 'ADDED' : 'MODIFIED';
    this.addEvent(write, { revision, resource, key, type, object, previous: current }, record);
  }

  private known(id: string): StoredObject | undefined {
    const { heads, found } = this.options;
    const head = heads.get(id);
    return head === undefined ? found.get(id) : head.object;
  }

  private addEvent(write: PendingWrite, event: LogEvent, record?: Buffer): void {
    const { revision, resource, key, type, object, previous } = event;
    const { writer, number, time, bare } = this.options;
    const { value, expected } = write.request;
    this.log.push({
      _id: revision,
      resource,
      type,
      key,
      previous: previous?.revision ?? 0,
      ...(record === undefined ? {} : { bytes: record }),
      ...(previous === undefined ? {} : { before: recordOf(previous) }),
      writer,
      batch: number,
      time,
    });
    const readable =
      bare || value?.sealed !== undefined || value === undefined || write.raw !== undefined
        ? {}
        : readableForm(value, revision);
    const state = record === undefined ? undefined : { _annex: { revision, bytes: record }, ...readable };
    this.changes.push({ resource, key, expected, state });
    this.events.push(event);
    this.made.set(headId(resource, key), record === undefined ? undefined : object);
    this.decide(write, { outcome: 'committed', object });
  }

  private decide(write: PendingWrite, result: WriteResult): void {
    this.writes.push(write);
    this.results.push(result);
  }
}

function tooLarge(bytes: number, most: number): StorageError {
  return new StorageError(
    'object-too-large',
    `the object takes ${bytes} bytes; the store takes ${most} at most, because one MongoDB document holds its states before and after a write`,
  );
}
