import { crc32 } from 'node:zlib';
import { StorageError } from '../errors.js';
import type { LogEvent, Revision } from '../interfaces.js';

/**
 * A log entry as stored in LMDB: a header, the resource's name, the object's key, and the object's record (none for DELETED: it is that of
 * the previous entry).
 *
 *     0  type: 1 ADDED, 2 MODIFIED, 3 DELETED
 *     1  length of the resource's name
 *     2  length of the key (16 bits)
 *     4  previous revision, 0 for none (64-bit float)
 *    12  commit time in milliseconds since the epoch (64-bit float)
 *    20  CRC-32 of all the rest
 *    24  resource, key, record
 */
export interface EntryHeader {
  readonly type: LogEvent['type'];
  readonly resource: string;
  readonly key: string;
  readonly previous: Revision;
  readonly time: number;
  /** The offset of the object's record. */
  readonly offset: number;
}

const CHECKSUM = 20;
const FIXED = 24;
const TYPES = ['ADDED', 'MODIFIED', 'DELETED'] as const;

export function headerLength(resource: string, key: string): number {
  return FIXED + Buffer.byteLength(resource) + Buffer.byteLength(key);
}

/** Writes the header of an entry that was allocated with room for it and has its record already. */
export function writeHeader(entry: Buffer, header: Omit<EntryHeader, 'offset'>): void {
  const resourceLength = Buffer.byteLength(header.resource);
  entry[0] = TYPES.indexOf(header.type) + 1;
  entry[1] = resourceLength;
  entry.writeUInt16LE(Buffer.byteLength(header.key), 2);
  entry.writeDoubleLE(header.previous, 4);
  entry.writeDoubleLE(header.time, 12);
  entry.write(header.resource, FIXED);
  entry.write(header.key, FIXED + resourceLength);
  entry.writeUInt32LE(checksum(entry), CHECKSUM);
}

function checksum(entry: Buffer): number {
  return crc32(entry.subarray(FIXED), crc32(entry.subarray(0, CHECKSUM)));
}

/** Reports whether an entry is as it was written. */
export function isIntact(entry: Buffer): boolean {
  return entry.length >= FIXED && entry.readUInt32LE(CHECKSUM) === checksum(entry);
}

export function readHeader(entry: Buffer, revision: Revision): EntryHeader {
  const type = TYPES[(entry[0] ?? 0) - 1];
  if (type === undefined || entry.length < FIXED) throw damaged(revision);
  const resourceEnd = FIXED + (entry[1] ?? 0);
  const offset = resourceEnd + entry.readUInt16LE(2);
  if (offset > entry.length) throw damaged(revision);
  return {
    type,
    resource: entry.toString('utf8', FIXED, resourceEnd),
    key: entry.toString('utf8', resourceEnd, offset),
    previous: entry.readDoubleLE(4),
    time: entry.readDoubleLE(12),
    offset,
  };
}

export function damaged(revision: Revision): StorageError {
  return new StorageError('corrupt', `the log entry of revision ${revision} is damaged`, { revision });
}
