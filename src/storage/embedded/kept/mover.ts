import type { Revision } from '../../interfaces.js';
import type { Operation as Kind } from '../../kept/interfaces.js';
import { readRecord } from '../../record.js';
import { objectKey, revisionKey, type Environment, type Operation } from '../environment.js';
import { readHeader, type EntryHeader } from '../entry.js';
import {
  ageRow,
  ageValue,
  CURRENT,
  DELETION,
  encodeRow,
  historyKey,
  isPurged,
  keyRow,
  keyValue,
  SUPERSEDED,
  type RowHeader,
} from './rows.js';
import type { KeptTypes, TypeChanges } from './types.js';

/** A log entry that leaves the window. */
export interface Leaving {
  readonly revision: Revision;
  readonly entry: Buffer;
  readonly header: EntryHeader;
}

const OPERATIONS: Readonly<Record<EntryHeader['type'], Kind>> = {
  ADDED: 'Create',
  MODIFIED: 'Update',
  DELETED: 'Delete',
};

/**
 * Collects what one step of trimming moves to the history. The step removes the same states from the log in the same transaction, so that a
 * state is always in one of the two.
 */
export class Mover {
  readonly operations: Operation[] = [];
  readonly changes: TypeChanges;
  /** The bytes that were read to be moved. */
  bytes = 0;
  /** The objects that have one more superseded state. */
  readonly grown: { readonly resource: string; readonly key: string }[] = [];

  constructor(
    private readonly environment: Environment,
    private readonly types: KeptTypes,
    private readonly now: number,
  ) {
    this.changes = types.begin();
  }

  /** Takes what an entry that leaves the window superseded, and the deletion if it is one. */
  async take({ revision, entry, header }: Leaving): Promise<void> {
    const { resource, key, type, previous } = header;
    if (previous !== 0) await this.takeSuperseded(previous, revision, header);
    if (type === 'DELETED') await this.takeDeletion(revision, entry, header);
    else if (this.types.policyFor(resource, this.now).keepRevisionsFor > 0) {
      const row = await encodeRow(rowHeader(entry, header), undefined);
      this.put(resource, key, revision, row, keyValue(CURRENT, 0));
      this.changes.set(resource, { current: this.changes.of(resource).current + 1 });
    }
  }

  private async takeSuperseded(state: Revision, by: Revision, { resource, key, time }: EntryHeader): Promise<void> {
    const id = historyKey(resource, state);
    const wasCurrent = this.changes.of(resource).current > 0 && this.hasCurrent(resource, key, state);
    if (wasCurrent) {
      this.changes.set(resource, { current: this.changes.of(resource).current - 1 });
      this.operations.push({ table: 'history', key: id, value: undefined });
      this.operations.push({ table: 'historyKeys', key: keyRow(resource, key, state), value: undefined });
    }
    if (this.dropsPurged(resource, id)) return;
    if (this.types.policyFor(resource, this.now).keepRevisionsFor === 0) return;
    const before = this.environment.entry(state);
    if (before === undefined) return;
    const header = readHeader(before, state);
    const record = before.subarray(header.offset);
    const policy = this.types.policyFor(resource, this.now, readRecord(record).bytes);
    if (policy.keepRevisionsFor === 0) return;
    this.bytes += record.length;
    const row = await encodeRow(rowHeader(before, header), record);
    this.put(resource, key, state, row, keyValue(SUPERSEDED, by));
    this.age(resource, SUPERSEDED, by, { revision: state, at: time, bytes: row.length });
    if (policy.maxRevisionsPerObject > 0) this.grown.push({ resource, key });
  }

  private async takeDeletion(revision: Revision, entry: Buffer, header: EntryHeader): Promise<void> {
    const { resource, key, previous, time } = header;
    const isKept = this.types.policyFor(resource, this.now).keepDeletedFor > 0;
    const before = isKept ? this.environment.entry(previous) : undefined;
    const record = before?.subarray(readHeader(before, previous).offset);
    const policy = this.types.policyFor(resource, this.now, record && readRecord(record).bytes);
    const purged = this.dropsPurged(resource, historyKey(resource, revision));
    const id = objectKey(resource, key);
    const newest = this.environment.row('deleted', id);
    const own = revisionKey(revision);
    if (purged || record === undefined || policy.keepDeletedFor === 0) {
      if (newest?.equals(own) === true) this.operations.push({ table: 'deleted', key: id, value: undefined });
      return;
    }
    this.bytes += record.length;
    const row = await encodeRow(rowHeader(entry, header), record);
    this.put(resource, key, revision, row, keyValue(DELETION, revision));
    this.age(resource, DELETION, revision, { revision, at: time, bytes: row.length });
    // A deletion by an earlier version, or while nothing was kept, has no row yet.
    if (newest === undefined || newest.compare(own) < 0)
      this.operations.push({ table: 'deleted', key: id, value: own });
  }

  /** Reports whether a state is current by its row, also if this step has just put it. */
  private hasCurrent(resource: string, key: string, state: Revision): boolean {
    const id = keyRow(resource, key, state);
    const here = this.operations.findLast((operation) => operation.table === 'historyKeys' && operation.key.equals(id));
    const value = here === undefined ? this.environment.row('historyKeys', id) : here.value;
    return Buffer.isBuffer(value) && value[0] === CURRENT;
  }

  /** Removes the placeholder of a state that was purged in the window; false if there is none. */
  private dropsPurged(resource: string, id: Buffer): boolean {
    const { purged } = this.changes.of(resource);
    if (purged === 0 || !isPurged(this.environment.row('history', id))) return false;
    this.operations.push({ table: 'history', key: id, value: undefined });
    this.changes.set(resource, { purged: purged - 1 });
    return true;
  }

  private put(resource: string, key: string, revision: Revision, row: Buffer, value: Buffer): void {
    this.operations.push({ table: 'history', key: historyKey(resource, revision), value: row });
    this.operations.push({ table: 'historyKeys', key: keyRow(resource, key, revision), value });
  }

  private age(resource: string, kind: number, by: Revision, value: Parameters<typeof ageValue>[0]): void {
    this.operations.push({ table: 'historyAges', key: ageRow(resource, kind, by), value: ageValue(value) });
    this.changes.count(resource, kind, 1, value.bytes);
  }
}

const rowHeader = (entry: Buffer, { type, key, author, time, previous }: EntryHeader): RowHeader => ({
  operation: OPERATIONS[type],
  key,
  author: entry.subarray(author.at, author.at + author.length),
  time,
  previous,
});
