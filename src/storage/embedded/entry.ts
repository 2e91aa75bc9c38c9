import { crc32 } from 'node:zlib';
import { StorageError } from '../errors.js';
import type { LogEvent, Revision } from '../interfaces.js';
import type { Author } from '../kept/interfaces.js';
import { readAuthor } from '../kept/authors.js';

/**
 * A log entry as stored in LMDB: a header, the resource's name, the object's key, who wrote it, and the object's record (none for DELETED:
 * it is that of the previous entry).
 *
 *     0  type: 1 ADDED, 2 MODIFIED, 3 DELETED; the same plus 3 if it has an author, which no entry of format 3 has
 *     1  length of the resource's name
 *     2  length of the key (16 bits)
 *     4  previous revision, 0 for none (64-bit float)
 *    12  commit time in milliseconds since the epoch (64-bit float)
 *    20  CRC-32 of all the rest
 *    24  resource, key, author (16 bits for its length, and its text), record
 */
export interface EntryHeader {
  readonly type: LogEvent['type'];
  readonly resource: string;
  readonly key: string;
  readonly previous: Revision;
  readonly time: number;
  /** The offset and length of the text of the author; 0 if there is none. */
  readonly author: { readonly at: number; readonly length: number };
  /** The offset of the object's record. */
  readonly offset: number;
}

const CHECKSUM = 20;
const FIXED = 24;
/** The bytes of the author's length. */
const LENGTH = 2;
const TYPES = ['ADDED', 'MODIFIED', 'DELETED'] as const;

export function headerLength(resource: string, key: string, author?: Buffer): number {
  const authorLength = author === undefined ? 0 : LENGTH + author.length;
  return FIXED + Buffer.byteLength(resource) + Buffer.byteLength(key) + authorLength;
}

/** Writes the header of an entry that was allocated with room for it and has its record already. */
export function writeHeader(
  entry: Buffer,
  header: Omit<EntryHeader, 'offset' | 'author'> & { readonly author?: Buffer | undefined },
): void {
  const resourceLength = Buffer.byteLength(header.resource);
  entry[0] = TYPES.indexOf(header.type) + 1;
  if (header.author !== undefined) {
    entry[0] += TYPES.length;
    const at = FIXED + resourceLength + Buffer.byteLength(header.key);
    entry.writeUInt16LE(header.author.length, at);
    entry.set(header.author, at + LENGTH);
  }
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
  const number = (entry[0] ?? 0) - 1;
  const type = TYPES[number % TYPES.length];
  if (type === undefined || number >= 2 * TYPES.length || entry.length < FIXED) throw damaged(revision);
  const resourceEnd = FIXED + (entry[1] ?? 0);
  const keyEnd = resourceEnd + entry.readUInt16LE(2);
  const hasAuthor = number >= TYPES.length;
  if (keyEnd + (hasAuthor ? LENGTH : 0) > entry.length) throw damaged(revision);
  const author = hasAuthor ? { at: keyEnd + LENGTH, length: entry.readUInt16LE(keyEnd) } : NO_AUTHOR;
  const offset = hasAuthor ? author.at + author.length : keyEnd;
  if (offset > entry.length) throw damaged(revision);
  return {
    type,
    resource: entry.toString('utf8', FIXED, resourceEnd),
    key: entry.toString('utf8', resourceEnd, keyEnd),
    previous: entry.readDoubleLE(4),
    time: entry.readDoubleLE(12),
    author,
    offset,
  };
}

const NO_AUTHOR = { at: 0, length: 0 } as const;

/** Returns who wrote an entry. */
export const authorOf = (entry: Buffer, { author: { at, length } }: EntryHeader): Author | undefined =>
  readAuthor(entry.subarray(at, at + length));

export function damaged(revision: Revision): StorageError {
  return new StorageError('corrupt', `the log entry of revision ${revision} is damaged`, { revision });
}
