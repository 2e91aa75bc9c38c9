import { deepEqual, objectAt } from '../../apimachinery/json/json.js';
import type { EncodedObject, StoredObject } from '../../storage/interfaces.js';
import { revisionSpan } from '../../storage/object-bytes.js';
import { UNSEEN_MEMBERS } from '../../storage/record.js';
import { decodeStored } from '../../storage/detached-object.js';

/**
 * Reports whether an object equals the stored one apart from its revision; the order of keys does not matter. The stored object
 * counts without the defaults that its type adds today, but with its unseen members.
 */
export function isUnchanged(next: EncodedObject, current: StoredObject): boolean {
  if (((next.flags ^ current.flags) & UNSEEN_MEMBERS) !== 0) return false;
  if (hasOtherCharacters(next, current.bytes)) return false;
  const now = current.object ?? decodeStored(current);
  const metadata = { ...objectAt(now, 'metadata'), resourceVersion: undefined };
  return deepEqual(next.object, { ...now, metadata });
}

/**
 * Reports whether two encodings consist of different characters. Equal objects are encoded with the same characters, whatever the
 * order of their keys: if the sums of these differ, nothing needs to be decoded. Text beyond ASCII is not summed.
 */
function hasOtherCharacters({ head, tail }: EncodedObject, bytes: Uint8Array): boolean {
  const span = revisionSpan(bytes);
  if (span === undefined) return false;
  const length = Buffer.byteLength(head) + Buffer.byteLength(tail);
  if (length !== bytes.length - (span.end - span.start)) return true;
  if (length !== head.length + tail.length) return false;
  const now = sumOfBytes(bytes, 0, span.start) + sumOfBytes(bytes, span.end, bytes.length);
  return sumOfText(head) + sumOfText(tail) !== now;
}

function sumOfText(text: string): number {
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum += text.charCodeAt(i);
  return sum;
}

function sumOfBytes(bytes: Uint8Array, from: number, to: number): number {
  let sum = 0;
  for (let i = from; i < to; i++) sum += bytes[i] ?? 0;
  return sum;
}
