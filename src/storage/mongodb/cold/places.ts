import type { RootDatabase } from 'lmdb';
import { viewAt } from '../../lmdb-file.js';
import { decodePlace, type Place } from './records.js';

export type Database = RootDatabase<Buffer, Buffer>;

/** Returns a place, also within a transaction, or undefined if it is missing or damaged. */
export function placeAt(root: Database, id: Buffer): Place | undefined {
  const place = viewAt(root, id);
  return place && decodePlace(id, place);
}
