import type { RootDatabase } from 'lmdb';
import { decodePlace, type Place } from './records.js';

export type Database = RootDatabase<Buffer, Buffer>;

/** Returns a place, also within a transaction, or undefined if it is missing or damaged. */
export function placeAt(root: Database, id: Buffer): Place | undefined {
  const shared = root.getBinaryFast(id);
  return shared && decodePlace(id, Buffer.from(shared.buffer, shared.byteOffset, shared.length));
}
