import { crc32 } from 'node:zlib';
import { isObject, type JsonValue } from '../../../apimachinery/json/json.js';
import type { RootDatabase } from 'lmdb';
import type { Revision, StoredObject } from '../../interfaces.js';
import { viewAt } from '../../lmdb-file.js';

export type ColdDatabase = RootDatabase<Buffer, Buffer>;

/** The kinds of keys, as their first byte. */
export const CHECKPOINT = 1;
export const RECORD = 2;
export const PLACE = 3;
export const SUPERSEDED = 4;
/** The kinds of keys that belong to a load. */
export const LOAD_KINDS = [RECORD, PLACE, SUPERSEDED] as const;

/** The newest state of an object that a load has stored. */
export interface Place {
  readonly revision: Revision;
  readonly flags: number;
  readonly length: number;
}

/** The revision up to which a load has the whole type. */
export interface Checkpoint {
  readonly load: number;
  readonly revision: Revision;
  /** The name of the log's batch that contains the revision; no other batch has this name. */
  readonly batch: string;
}

const NO_STATE = 0xffff_ffff;
/** The revision in places of objects that changed after the revision of a save. */
export const AFTER_SAVE = Number.MAX_SAFE_INTEGER;

/** Returns the place of an object without a state: it was gone at the revision. */
export const tombstoneAt = (revision: Revision): Place => ({ revision, flags: 0, length: NO_STATE });

export const isTombstone = ({ length }: Place): boolean => length === NO_STATE;

const CRC = 4;
const LOAD_PREFIX = 5;
const RECORD_HEADER = CRC + 1;
const PLACE_BYTES = CRC + 8 + 4 + 1;
const BEYOND_32_BITS = 0x1_0000_0000;

/** Returns the prefix of all keys of one kind of a load. */
export function loadPrefix(kind: number, load: number, more = 0): Buffer {
  const key = Buffer.allocUnsafe(LOAD_PREFIX + more);
  key[0] = kind;
  key.writeUInt32BE(load, 1);
  return key;
}

export const loadOf = (key: Buffer): number => key.readUInt32BE(1);

/** Returns the key of a record, or of the entry that marks a record without a place. */
export function revisionKey(kind: typeof RECORD | typeof SUPERSEDED, load: number, revision: Revision): Buffer {
  const key = loadPrefix(kind, load, 8);
  key.writeUInt32BE(Math.floor(revision / BEYOND_32_BITS), LOAD_PREFIX);
  key.writeUInt32BE(revision % BEYOND_32_BITS, LOAD_PREFIX + 4);
  return key;
}

export const revisionOf = (key: Buffer): Revision =>
  key.readUInt32BE(LOAD_PREFIX) * BEYOND_32_BITS + key.readUInt32BE(LOAD_PREFIX + 4);

export function placeKey(load: number, key: string): Buffer {
  return Buffer.concat([loadPrefix(PLACE, load), Buffer.from(key)]);
}

export const objectKeyOf = (place: Buffer): string => place.toString('utf8', LOAD_PREFIX);

export const checkpointKey = (resource: string): Buffer =>
  Buffer.concat([Buffer.from([CHECKPOINT]), Buffer.from(resource)]);

export const resourceOf = (checkpoint: Buffer): string => checkpoint.toString('utf8', 1);

export function encodeRecord({ flags, bytes }: Pick<StoredObject, 'flags' | 'bytes'>): Buffer {
  const record = Buffer.allocUnsafe(RECORD_HEADER + bytes.length);
  record[CRC] = flags;
  record.set(bytes, RECORD_HEADER);
  return sealed(record);
}

/** Returns a view of a record, or undefined if it is damaged. */
export function decodeRecord(record: Buffer): Pick<StoredObject, 'flags' | 'bytes'> | undefined {
  if (!isIntact(record, RECORD_HEADER)) return undefined;
  return { flags: record[CRC] ?? 0, bytes: record.subarray(RECORD_HEADER) };
}

/** `key` is the key of the place. It is part of the checksum, so that the value is not taken for that of another place. */
export function encodePlace(key: Buffer, { revision, flags, length }: Place): Buffer {
  const place = Buffer.allocUnsafe(PLACE_BYTES);
  place.writeDoubleLE(revision, CRC);
  place.writeUInt32LE(length, CRC + 8);
  place[CRC + 12] = flags;
  return sealed(place, crc32(key));
}

export function decodePlace(key: Buffer, place: Buffer): Place | undefined {
  if (place.length !== PLACE_BYTES || !isIntact(place, PLACE_BYTES, crc32(key))) return undefined;
  return {
    revision: place.readDoubleLE(CRC),
    length: place.readUInt32LE(CRC + 8),
    flags: place[CRC + 12] ?? 0,
  };
}

/** Returns a place, also within a transaction, or undefined if it is missing or damaged. */
export function placeAt(root: ColdDatabase, key: Buffer): Place | undefined {
  const place = viewAt(root, key);
  return place && decodePlace(key, place);
}

export function encodeCheckpoint(checkpoint: Checkpoint): Buffer {
  return sealed(Buffer.concat([Buffer.alloc(CRC), Buffer.from(JSON.stringify(checkpoint))]));
}

export function decodeCheckpoint(bytes: Buffer): Checkpoint | undefined {
  if (!isIntact(bytes, CRC + 2)) return undefined;
  const value = JSON.parse(bytes.toString('utf8', CRC)) as JsonValue;
  if (!isObject(value)) return undefined;
  const { load, revision, batch } = value;
  if (typeof load !== 'number' || typeof revision !== 'number' || typeof batch !== 'string') return undefined;
  return { load, revision, batch };
}

function sealed(bytes: Buffer, seed = 0): Buffer {
  bytes.writeUInt32LE(crc32(bytes.subarray(CRC), seed), 0);
  return bytes;
}

function isIntact(bytes: Buffer, atLeast: number, seed = 0): boolean {
  return bytes.length >= atLeast && bytes.readUInt32LE(0) === crc32(bytes.subarray(CRC), seed);
}
