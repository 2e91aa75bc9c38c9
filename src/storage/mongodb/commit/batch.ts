import { StorageError } from '../../errors.js';
import { decodedForm } from '../../encode.js';
import type { EncodedObject, LogEvent, Revision, StoredObject, WriteRequest, WriteResult } from '../../interfaces.js';
import { withRevision } from '../../object-bytes.js';
import { encodeRecord, readRecord, recordOf } from '../../record.js';
import type { BatchDocument, Entry } from '../documents.js';
import type { Followed } from '../following/follower.js';
import { headId, type KnownState } from '../following/known-states.js';

/** A write waiting for its commit. */
export interface PendingWrite {
  readonly request: WriteRequest;
  /** When the write arrived, in monotonic milliseconds. */
  readonly since: number;
  /** The deadline in monotonic milliseconds, after which the write is rejected. An outage brings it forward. */
  deadline: number;
  resolve(result: WriteResult): void;
  reject(error: StorageError): void;
}

export interface BatchOptions {
  /** The newest known revision, which the batch follows. */
  readonly base: Revision;
  /** The states at that revision, as far as they are known. */
  readonly states: ReadonlyMap<string, KnownState>;
  readonly writer: string;
  readonly number: number;
  readonly time: Date;
  readonly maxObjectBytes: number;
}

/** A document may have 16 MiB. */
const MAX_DOCUMENT_BYTES = (16 << 20) - (64 << 10);
const ENTRY_BYTES = 128;

/** Writes that are committed together. Each is checked against the state that the ones before it lead to. */
export class Batch {
  readonly events: LogEvent[] = [];
  readonly values: (EncodedObject | undefined)[] = [];
  /** The writes whose result is known once the batch is committed, including conflicts with earlier writes of the same batch. */
  readonly writes: PendingWrite[] = [];
  /** The writes that did not fit, or whose current state is no longer known, in order. */
  readonly rest: PendingWrite[] = [];
  private readonly entries: Entry[] = [];
  private bytes = 0;
  private readonly results: WriteResult[] = [];
  /** The states that the batch itself makes; undefined if it deletes the object. */
  private readonly made = new Map<string, StoredObject | undefined>();

  constructor(private readonly options: BatchOptions) {}

  get first(): Revision {
    return this.options.base + 1;
  }

  get last(): Revision {
    return this.options.base + this.events.length;
  }

  get document(): BatchDocument {
    const { first: _id, last, entries } = this;
    const { writer, number: batch, time } = this.options;
    return { _id, last, writer, batch, time, entries };
  }

  get followed(): Followed {
    const { first, last, events, values } = this;
    return { first, last, writer: this.options.writer, events, values };
  }

  /** Resolves the writes once the commit is durable. */
  resolve(): void {
    this.writes.forEach((write, i) => {
      const result = this.results[i];
      if (result !== undefined) write.resolve(result);
    });
  }

  add(write: PendingWrite): void {
    const { resource, key, expected, value } = write.request;
    const id = headId(resource, key);
    if (this.rest.length > 0 || !(this.made.has(id) || this.options.states.has(id))) {
      this.rest.push(write);
      return;
    }
    const current = this.made.has(id) ? this.made.get(id) : this.options.states.get(id)?.object;
    if ((current?.revision ?? 0) !== expected) {
      const result: WriteResult = { outcome: 'conflict', current };
      // A state of this batch is not returned before it is durable.
      if (this.made.has(id)) this.decide(write, result);
      else write.resolve(result);
      return;
    }
    const revision = this.last + 1;
    if (value === undefined) {
      if (current === undefined) {
        write.resolve({ outcome: 'conflict', current });
        return;
      }
      const bytes = withRevision(current.bytes, revision);
      const object: StoredObject = { ...current, revision, bytes };
      this.addEvent(write, { revision, resource, key, type: 'DELETED', object, previous: current });
      return;
    }
    const record = encodeRecord(value, revision);
    const content = readRecord(record);
    if (content.bytes.length > this.options.maxObjectBytes) {
      write.reject(tooLarge(content.bytes.length, this.options.maxObjectBytes));
      return;
    }
    const object: StoredObject = { key, revision, ...content, ...decodedForm(value) };
    const type = current === undefined ? 'ADDED' : 'MODIFIED';
    this.addEvent(write, { revision, resource, key, type, object, previous: current }, record);
  }

  private addEvent(write: PendingWrite, event: LogEvent, record?: Buffer): void {
    const { resource, type, key, object, previous } = event;
    const size =
      3 * (resource.length + key.length) + (record?.length ?? 0) + (previous?.bytes.length ?? 0) + ENTRY_BYTES;
    if (this.events.length > 0 && this.bytes + size > MAX_DOCUMENT_BYTES) {
      this.rest.push(write);
      return;
    }
    this.bytes += size;
    this.entries.push({
      resource,
      type,
      key,
      previous: previous?.revision ?? 0,
      ...(record === undefined ? {} : { bytes: record }),
      ...(previous === undefined ? {} : { before: recordOf(previous) }),
    });
    this.events.push(event);
    this.values.push(write.request.value);
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
    `the object is ${bytes} bytes; the maximum is ${most} bytes, because one MongoDB document holds its states before and after a write`,
  );
}
