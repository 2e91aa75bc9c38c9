import { promisify } from 'node:util';
import { constants, crc32, deflateRaw, deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Revision } from '../../interfaces.js';
import { readAuthor } from '../../kept/authors.js';
import type { KeptContent, KeptEntry, Operation } from '../../kept/interfaces.js';
import { readRecord } from '../../record.js';
import { keyRevision, revisionKey } from '../environment.js';

/**
 * The rows of the history, in five tables:
 *
 *     history      type, NUL, revision → the entry with its record: see below
 *     historyKeys  type, NUL, key, NUL, revision → kind, revision of the write that superseded it
 *     historyAges  type, NUL, kind, revision of the write that superseded it → revision, its time, bytes
 *     deleted      type, NUL, key → revision of the newest deletion, kept or in the window
 *     types        type → its policy and counts, as JSON
 *
 * A row of `history`:
 *
 *     0  format
 *     1  operation: 1 Create, 2 Update, 3 Delete; 0: purged while the log still has the state, so that it is not moved
 *     2  where the record is: 0 here, 1 here and deflated, 2 in the log, because it is current
 *     4  lengths of key and author (16 bits each)
 *     8  commit time; previous revision (64-bit floats)
 *    24  CRC-32 of all the rest
 *    28  key, author, record
 */
export const SUPERSEDED = 0;
export const DELETION = 1;
/** A current state of a type that keeps revisions: only its entry is in the history. */
export const CURRENT = 2;

const FORMAT = 1;
const OPERATIONS: readonly Operation[] = ['Create', 'Update', 'Delete'];
const PLAIN = 0;
const DEFLATED = 1;
const IN_LOG = 2;
const CHECKSUM = 24;
const FIXED = 28;
/** Shorter records gain little. */
const MIN_DEFLATED = 128;
/** Longer ones are deflated on another thread. */
const MAX_SYNC = 64 << 10;
const FAST = { level: constants.Z_BEST_SPEED } as const;
const deflateElsewhere = promisify<Buffer, object, Buffer>(deflateRaw);

export const historyKey = (resource: string, revision: Revision): Buffer =>
  Buffer.concat([Buffer.from(`${resource}\0`), revisionKey(revision)]);

export const historyRevision = (key: Buffer): Revision => keyRevision(key, key.length - 8);

/** Returns the prefix of an object's rows in `historyKeys`. */
export const keyPrefix = (resource: string, key: string): Buffer => Buffer.from(`${resource}\0${key}\0`);

export const keyRow = (resource: string, key: string, revision: Revision): Buffer =>
  Buffer.concat([keyPrefix(resource, key), revisionKey(revision)]);

export const keyValue = (kind: number, by: Revision): Buffer => Buffer.concat([Buffer.from([kind]), revisionKey(by)]);

export const readKeyValue = (value: Buffer): { readonly kind: number; readonly by: Revision } => ({
  kind: value[0] ?? 0,
  by: keyRevision(value, 1),
});

export const agePrefix = (resource: string, kind: number): Buffer =>
  Buffer.concat([Buffer.from(`${resource}\0`), Buffer.from([kind])]);

export const ageRow = (resource: string, kind: number, by: Revision): Buffer =>
  Buffer.concat([agePrefix(resource, kind), revisionKey(by)]);

/** A superseded state or a deletion in the history. */
export interface AgedRow {
  readonly resource: string;
  readonly kind: number;
  readonly revision: Revision;
  /** The write that superseded it, which is itself for a deletion, and its time. */
  readonly by: Revision;
  readonly at: number;
  readonly bytes: number;
}

export function ageValue({ revision, at, bytes }: Pick<AgedRow, 'revision' | 'at' | 'bytes'>): Buffer {
  const value = Buffer.alloc(20);
  revisionKey(revision).copy(value);
  value.writeDoubleLE(at, 8);
  value.writeUInt32LE(bytes, 16);
  return value;
}

export const readAge = (resource: string, kind: number, key: Buffer, value: Buffer): AgedRow => ({
  ...{ resource, kind, revision: keyRevision(value), by: keyRevision(key, key.length - 8) },
  at: value.readDoubleLE(8),
  bytes: value.readUInt32LE(16),
});

export interface RowHeader {
  readonly operation: Operation;
  readonly key: string;
  readonly author: Buffer;
  readonly time: number;
  readonly previous: Revision;
}

/** Returns a row of `history`. `record` undefined: it is in the log. */
export async function encodeRow(header: RowHeader, record: Buffer | undefined): Promise<Buffer> {
  const key = Buffer.from(header.key);
  const { author } = header;
  const { where, bytes } = record === undefined ? { where: IN_LOG, bytes: NOTHING } : await compact(record);
  const row = Buffer.alloc(FIXED + key.length + author.length + bytes.length);
  row[0] = FORMAT;
  row[1] = OPERATIONS.indexOf(header.operation) + 1;
  row[2] = where;
  row.writeUInt16LE(key.length, 4);
  row.writeUInt16LE(author.length, 6);
  row.writeDoubleLE(header.time, 8);
  row.writeDoubleLE(header.previous, 16);
  key.copy(row, FIXED);
  author.copy(row, FIXED + key.length);
  bytes.copy(row, FIXED + key.length + author.length);
  row.writeUInt32LE(checksum(row), CHECKSUM);
  return row;
}

const NOTHING = Buffer.alloc(0);
/** The row of a state that was purged while it is in the log. */
export const PURGED = Buffer.from([FORMAT, 0]);
export const isPurged = (row: Buffer | undefined): boolean => row?.length === PURGED.length;

async function compact(record: Buffer): Promise<{ readonly where: number; readonly bytes: Buffer }> {
  if (record.length < MIN_DEFLATED) return { where: PLAIN, bytes: record };
  const bytes = record.length > MAX_SYNC ? await deflateElsewhere(record, FAST) : deflateRawSync(record, FAST);
  return bytes.length < record.length ? { where: DEFLATED, bytes } : { where: PLAIN, bytes: record };
}

const checksum = (row: Buffer): number => crc32(row.subarray(FIXED), crc32(row.subarray(0, CHECKSUM)));

const isIntact = (row: Buffer): boolean =>
  row.length >= FIXED && row[0] === FORMAT && row.readUInt32LE(CHECKSUM) === checksum(row);

/** Returns the key of a row; undefined if it is purged or damaged. */
export const rowKey = (row: Buffer): string | undefined =>
  isIntact(row) ? row.toString('utf8', FIXED, FIXED + row.readUInt16LE(4)) : undefined;

/** Reads a row; undefined if it is purged or damaged. `current` returns a state that is in the log. */
export function readRow(
  resource: string,
  revision: Revision,
  row: Buffer,
  current: (key: string, revision: Revision) => KeptContent | undefined,
): KeptEntry | undefined {
  const operation = OPERATIONS[(row[1] ?? 0) - 1];
  const key = rowKey(row);
  if (operation === undefined || key === undefined) return undefined;
  const authorAt = FIXED + row.readUInt16LE(4);
  const recordAt = authorAt + row.readUInt16LE(6);
  const time = row.readDoubleLE(8);
  const previous = row.readDoubleLE(16);
  const at = operation === 'Delete' ? previous : revision;
  const record = row.subarray(recordAt);
  const content =
    row[2] === IN_LOG
      ? current(key, revision)
      : { revision: at, ...readRecord(row[2] === DEFLATED ? inflateRawSync(record) : record) };
  if (content === undefined) return undefined;
  const author = readAuthor(row.subarray(authorAt, recordAt));
  return { resource, key, revision, operation, time, author, previous, content };
}
