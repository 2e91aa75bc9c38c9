import { asBuffer } from '../util/bytes.js';
import type { EncodedObject, Revision, StoredObject } from './interfaces.js';

const MARK = Buffer.from(',"metadata":{"resourceVersion":"');
const QUOTE = 0x22;

/** The position of the revision's digits in the JSON bytes of an object. */
export interface RevisionSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the position of the revision, or undefined if the bytes don't have the layout of a stored object (see EncodedObject). The first
 * match is the right one: only two JSON strings come before it, and their quotes are escaped.
 */
export function revisionSpan(bytes: Uint8Array): RevisionSpan | undefined {
  const buffer = asBuffer(bytes);
  const at = buffer.indexOf(MARK);
  if (at < 0) return undefined;
  const start = at + MARK.length;
  const end = buffer.indexOf(QUOTE, start);
  return end < 0 ? undefined : { start, end };
}

/** Returns a copy of an object's bytes with another revision, or the bytes themselves if they don't have the layout of an object. */
export function withRevision(bytes: Uint8Array, revision: Revision): Uint8Array {
  const span = revisionSpan(bytes);
  if (span === undefined) return bytes;
  const digits = String(revision);
  const copy = Buffer.allocUnsafeSlow(bytes.length - (span.end - span.start) + digits.length);
  copy.set(bytes.subarray(0, span.start));
  copy.write(digits, span.start, 'latin1');
  copy.set(bytes.subarray(span.end), span.start + digits.length);
  return copy;
}

/**
 * Returns the bytes of an encoded object at a revision, after `reserve` bytes for the caller to fill. The bytes of an encrypted object are
 * the same at every revision.
 */
export function encodedBytes(encoded: EncodedObject, revision: Revision, reserve = 0): Buffer {
  if (encoded.sealed !== undefined) {
    const bytes = Buffer.allocUnsafeSlow(reserve + encoded.sealed.length);
    bytes.set(encoded.sealed, reserve);
    return bytes;
  }
  const digits = String(revision);
  const head = Buffer.byteLength(encoded.head);
  const tail = Buffer.byteLength(encoded.tail);
  const bytes = Buffer.allocUnsafeSlow(reserve + head + digits.length + tail);
  bytes.write(encoded.head, reserve);
  bytes.write(digits, reserve + head, 'latin1');
  bytes.write(encoded.tail, reserve + head + digits.length);
  return bytes;
}

/** The bytes of an object that cannot be read. */
export const NO_BYTES = new Uint8Array();

/** Returns an object that cannot be read, with the reason. */
export const unreadableObject = (key: string, revision: Revision, unreadable: string): StoredObject => ({
  key,
  revision,
  bytes: NO_BYTES,
  flags: 0,
  unreadable,
});
