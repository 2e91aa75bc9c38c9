import { deepEqual, objectAt } from '../../apimachinery/json/json.js';
import type { EncodedObject, StoredObject } from '../../storage/interfaces.js';
import { INCOMPLETE, isIncomplete, revisionSpan } from '../../storage/object-bytes.js';
import { decodeStored } from './loopback/detached-object.js';

/** Whether an object is what is stored already, its revision aside; the order of keys means nothing. */
export function isUnchanged(next: EncodedObject, current: StoredObject): boolean {
  if (hasOtherCharacters(next, current.bytes)) return false;
  const now = current.object ?? decodeStored(current);
  const metadata = { ...objectAt(now, 'metadata'), resourceVersion: undefined };
  return deepEqual(next.object, { ...now, metadata });
}

/**
 * Equal objects are written with the same characters, whatever the order of their keys: where the sums of these differ, nothing need
 * be decoded. Texts beyond ASCII are not added up.
 */
function hasOtherCharacters({ head, tail }: EncodedObject, bytes: Uint8Array): boolean {
  const span = revisionSpan(bytes);
  if (span === undefined) return false;
  // What the type adds today is no part of the object.
  const rest = tail.endsWith(INCOMPLETE) ? tail.slice(0, -1) : tail;
  const end = isIncomplete(bytes) ? bytes.length - 1 : bytes.length;
  const length = Buffer.byteLength(head) + Buffer.byteLength(rest);
  if (length !== end - (span.end - span.start)) return true;
  if (length !== head.length + rest.length) return false;
  return sumOfText(head) + sumOfText(rest) !== sumOfBytes(bytes, 0, span.start) + sumOfBytes(bytes, span.end, end);
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
