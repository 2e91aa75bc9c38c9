import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { Database } from 'lmdb';

const MAGIC = 0xbeefc0de;
const META_LENGTH = 160;
const FREE_PAGES_AT_END = 64;

/**
 * Describes the damage of an LMDB file, or returns undefined if it is sound. LMDB maps the file and trusts it: a damaged header or a
 * truncated file would end the process with a signal. Therefore this checks the two meta pages first: magic number, page size, and the
 * file's length against the last page in use.
 */
export function damageOfLmdbFile(path: string): string | undefined {
  const file = openSync(path, 'r');
  try {
    const size = fstatSync(file).size;
    if (size === 0) return 'the file is empty';
    const first = readMeta(file, 0);
    if (first === undefined || first.pageSize < 256 || first.pageSize > 65536) return 'the header is damaged';
    const second = readMeta(file, first.pageSize);
    if (second === undefined) return 'the second header is damaged';
    const newest = second.transaction > first.transaction ? second : first;
    // LMDB does not write the last pages of a commit if they are free again, so a sound file may lack a few.
    const isShort = newest.used && size < (newest.lastPage + 1 - FREE_PAGES_AT_END) * first.pageSize;
    return isShort ? 'the file is truncated' : undefined;
  } finally {
    closeSync(file);
  }
}

/** Returns the value of a key without a copy, valid until the next such read; undefined if there is none. */
export function viewAt(database: Pick<Database<Buffer, Buffer>, 'getBinaryFast'>, key: Buffer): Buffer | undefined {
  const shared = database.getBinaryFast(key);
  // Only `length` bytes of it are the value, and not all of Node's functions respect that.
  return shared && Buffer.from(shared.buffer, shared.byteOffset, shared.length);
}

interface Meta {
  readonly pageSize: number;
  readonly lastPage: number;
  readonly transaction: bigint;
  readonly used: boolean;
}

function readMeta(file: number, position: number): Meta | undefined {
  const page = Buffer.alloc(META_LENGTH);
  if (readSync(file, page, 0, META_LENGTH, position) < META_LENGTH) return undefined;
  // The page header takes 24 bytes; see struct MDB_meta.
  const base = 24;
  if (page.readUInt32LE(base) !== MAGIC) return undefined;
  const transaction = page.readBigUInt64LE(base + 128);
  return {
    pageSize: page.readUInt32LE(base + 24),
    lastPage: Number(page.readBigUInt64LE(base + 120)),
    transaction,
    used: transaction > 0n,
  };
}
