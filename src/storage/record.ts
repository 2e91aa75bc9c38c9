import type { EncodedObject, Revision, StoredObject } from './interfaces.js';
import { encodedBytes } from './object-bytes.js';

/**
 * A record is the stored form of one state of an object:
 *
 *     0  format of the record
 *     1  flags: facts about the object that its JSON text does not hold
 *     2  the object's JSON text (see EncodedObject), or its ciphertext, which starts with `k8s:enc:`
 *
 * Backends store records unchanged. In memory the text and the flags are separate, so that sending the text need not skip a header.
 */
export const RECORD_FORMAT = 1;
const HEADER_BYTES = 2;

/** The type adds data to the object on every read, such as defaults, so its text is never sent unchanged. */
export const INCOMPLETE = 1;
/** Reports whether an object's stored bytes are its representation, which has `identityUpTo` if that may be so. */
export const isShownAsStored = (
  { revision, flags }: Pick<StoredObject, 'revision' | 'flags'>,
  { identityUpTo }: { readonly identityUpTo?: Revision },
): boolean => identityUpTo !== undefined && revision <= identityUpTo && (flags & INCOMPLETE) === 0;

/** A server-side apply left members that are never shown, such as an empty list in metadata: kube-apiserver counts their removal as a change. */
export const UNSEEN_MEMBERS = 2;

/** The text does not come from Annex's encoder, so nothing is known about it before it is decoded. */
export const UNCHECKED = 0x80;

/** Returns the record of an encoded object at a revision, after `reserve` bytes for the caller to fill. */
export function encodeRecord(encoded: EncodedObject, revision: Revision, reserve = 0): Buffer {
  const record = encodedBytes(encoded, revision, reserve + HEADER_BYTES);
  writeHeader(record, encoded.flags, reserve);
  return record;
}

/** Returns the record of a known state, after `reserve` bytes for the caller to fill. */
export function recordOf({ bytes, flags }: Pick<StoredObject, 'bytes' | 'flags'>, reserve = 0): Buffer {
  const record = Buffer.allocUnsafeSlow(reserve + HEADER_BYTES + bytes.length);
  writeHeader(record, flags, reserve);
  record.set(bytes, reserve + HEADER_BYTES);
  return record;
}

function writeHeader(record: Buffer, flags: number, at: number): void {
  record[at] = RECORD_FORMAT;
  record[at + 1] = flags;
}

/** Returns a view of a record that starts at `at`. A record of another format yields an object without text, which is reported as undecodable. */
export function readRecord(record: Uint8Array, at = 0): Pick<StoredObject, 'bytes' | 'flags'> {
  if (record[at] !== RECORD_FORMAT) return { bytes: record.subarray(0, 0), flags: 0 };
  return { bytes: record.subarray(at + HEADER_BYTES), flags: record[at + 1] ?? 0 };
}
