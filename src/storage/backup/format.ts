import { createHash } from 'node:crypto';
import { parseJson } from '../../apimachinery/json/decode.js';
import { isObject, objectsOf, stringAt, type JsonObject } from '../../apimachinery/json/json.js';
import { messageOf } from '../../util/error-message.js';
import type { Revision } from '../interfaces.js';

/**
 * The format of a backup file: a line of JSON (the header), then blocks.
 *
 *     0  kind: 1 objects, 2 end
 *     1  length of the payload (32 bits)
 *     5  SHA-256 of the five bytes before and of the payload
 *    37  payload
 *
 * The payload of an objects block is compressed (raw deflate): objects in the order of the header's types and, within a type, of their keys.
 *
 *     0  index of the type in the header (16 bits)
 *     2  length of the key (16 bits)
 *     4  length of the record (32 bits)
 *     8  revision of the object (64-bit float)
 *    16  key, record (src/storage/record.ts)
 *
 * The payload of the end is the SHA-256 of the whole file before this block. Nothing follows it. Numbers are little-endian.
 */
const FORMAT = 'annex backup';
const VERSION = 1;

export const OBJECTS = 1;
export const END = 2;
const LENGTH_AT = 1;
const DIGEST_AT = 5;
export const BLOCK_HEADER = 37;
export const OBJECT_HEADER = 16;
/** A block is full at this size, uncompressed; a larger object has a block of its own. */
export const BLOCK_BYTES = 1 << 20;
/** No block is larger, compressed or not: an object has at most 16 MiB. */
export const MAX_BLOCK_BYTES = 64 << 20;
export const MAX_HEADER_BYTES = 16 << 20;

/** A type of a backup, with the number of its objects. */
export interface BackupType {
  /** '' for the core group. */
  readonly group: string;
  readonly resource: string;
  readonly count: number;
}

/** The first line of a backup. */
export interface BackupHeader {
  /** The revision whose state the backup has. */
  readonly revision: Revision;
  readonly types: readonly BackupType[];
  /** When the backup was begun, as in metadata.creationTimestamp. */
  readonly time: string;
  /** The revisions of the further logs of a store in MongoDB; absent without any. */
  readonly logs?: readonly { readonly name: string; readonly revision: Revision }[];
  /** The owner of a database in MongoDB: the uid of a cluster's namespace kube-system, or `standalone`; absent if unknown. */
  readonly cluster?: string;
}

/** One object of a backup. */
export interface BackupObject {
  /** The storage name of its type. */
  readonly type: string;
  readonly key: string;
  readonly revision: Revision;
  /** What backends store (src/storage/record.ts). Encrypted objects stay encrypted. */
  readonly record: Uint8Array;
}

/** The file is not a backup, or not as it was written. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/** Returns the storage name of a type: `<plural>.<group>`, or `<plural>` in the core group. */
export const storageName = ({ group, resource }: Pick<BackupType, 'group' | 'resource'>): string =>
  group === '' ? resource : `${resource}.${group}`;

/** Returns a type by its storage name. */
export function typeOf(name: string, count: number): BackupType {
  const dot = name.indexOf('.');
  return dot < 0
    ? { group: '', resource: name, count }
    : { group: name.slice(dot + 1), resource: name.slice(0, dot), count };
}

export function encodeHeader(header: BackupHeader): Buffer {
  return Buffer.from(`${JSON.stringify({ format: FORMAT, version: VERSION, ...header })}\n`);
}

/** Reads the first line. Throws BackupError if it is not that of a backup that this version can read. */
export function decodeHeader(line: Uint8Array): BackupHeader {
  const object = parsed(line);
  if (object === undefined || object['format'] !== FORMAT) throw new BackupError('it is not a backup of Annex');
  const { version, revision, cluster } = object;
  if (typeof version === 'number' && version > VERSION)
    throw new BackupError(`it has version ${version}, and this version of Annex reads ${VERSION}: use a newer one`);
  const time = stringAt(object, 'time');
  if (version !== VERSION || !isRevision(revision) || time === undefined || !Array.isArray(object['types']))
    throw new BackupError('its first line is damaged');
  const types = objectsOf(object['types']).map(({ group, resource, count }): BackupType => {
    if (typeof group !== 'string' || typeof resource !== 'string' || !isRevision(count))
      throw new BackupError('its first line is damaged');
    return { group, resource, count };
  });
  const logs = objectsOf(object['logs']).map((log) => ({
    name: stringAt(log, 'name') ?? '',
    revision: isRevision(log['revision']) ? log['revision'] : 0,
  }));
  return {
    ...{ revision, types, time },
    ...(logs.length > 0 && { logs }),
    ...(typeof cluster === 'string' && { cluster }),
  };
}

function parsed(line: Uint8Array): JsonObject | undefined {
  try {
    const value = parseJson(Buffer.from(line).toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch (error) {
    throw new BackupError(`it is not a backup of Annex: ${messageOf(error)}`);
  }
}

const isRevision = (value: unknown): value is Revision =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/** Returns the header of a block. */
export function encodeBlockHeader(kind: number, payload: Uint8Array): Buffer {
  const header = Buffer.allocUnsafe(BLOCK_HEADER);
  header[0] = kind;
  header.writeUInt32LE(payload.length, LENGTH_AT);
  header.set(blockDigest(header, payload), DIGEST_AT);
  return header;
}

/** Returns the kind and length that a block's header states. */
export const readBlockHeader = (header: Buffer): { readonly kind: number; readonly length: number } => ({
  kind: header[0] ?? 0,
  length: header.readUInt32LE(LENGTH_AT),
});

export const isIntactBlock = (header: Buffer, payload: Uint8Array): boolean =>
  blockDigest(header, payload).equals(header.subarray(DIGEST_AT, BLOCK_HEADER));

const blockDigest = (header: Buffer, payload: Uint8Array): Buffer =>
  createHash('sha256').update(header.subarray(0, DIGEST_AT)).update(payload).digest();
