import type { EncodedObject, Revision, StoredObject } from './interfaces.js';
import { encodedBytes } from './object-bytes.js';

/**
 * A record is what a backend keeps of one state of an object:
 *
 *     0  format of the record
 *     1  flags: facts about the object that its JSON text does not hold
 *     2  the object's JSON text (see EncodedObject), or what it is encrypted to, which begins with `k8s:enc:`
 *
 * Backends store records as they are. In memory the text and the flags stand apart, so that nothing that sends the text has to
 * skip a header.
 */
export const RECORD_FORMAT = 1;
const HEADER_BYTES = 2;

/** The type adds something whenever it shows the object, such as defaults, so that its text is never sent as it is. */
export const INCOMPLETE = 1;
/** An apply left members that nobody sees, such as an empty list in metadata: kube-apiserver counts their loss as a change. */
export const UNSEEN_MEMBERS = 2;

/** The text was not made by Annex' encoder: nothing is known of it before it was decoded. */
export const UNCHECKED = 0x80;

/** The record of an encoded object at a revision, after `reserve` bytes that are left for the caller to fill. */
export function encodeRecord(encoded: EncodedObject, revision: Revision, reserve = 0): Buffer {
  const record = encodedBytes(encoded, revision, reserve + HEADER_BYTES);
  writeHeader(record, encoded.flags, reserve);
  return record;
}

/** The record of a state that is known already, after `reserve` bytes that are left for the caller to fill. */
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

/** A view of a record that begins at `at`. One of another format yields an object without text, which is reported as undecodable. */
export function readRecord(record: Uint8Array, at = 0): Pick<StoredObject, 'bytes' | 'flags'> {
  if (record[at] !== RECORD_FORMAT) return { bytes: record.subarray(0, 0), flags: 0 };
  return { bytes: record.subarray(at + HEADER_BYTES), flags: record[at + 1] ?? 0 };
}
