import { objectAt, stringifyJson } from '../../apimachinery/json/json.js';
import type { VersionView } from '../../registry/rest/interfaces.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';

const quoteByte = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const beforeApiVersion = Buffer.from('{"apiVersion":"');
const beforeKind = Buffer.from('","kind":"');
const beforeMetadata = Buffer.from('","metadata":');

/** Returns the JSON text of an object's metadata in a version: a slice of the object's bytes, found without parsing them. */
export function metadataBytes(view: VersionView, object: CachedObject): Uint8Array {
  const bytes = object.render(view.json);
  const start = metadataStart(bytes);
  const end = start === -1 ? -1 : objectEnd(bytes, start);
  if (end !== -1) return bytes.subarray(start, end);
  return Buffer.from(stringifyJson(objectAt(view.toObject(object), 'metadata') ?? {}));
}

/** Returns the index at which the value of metadata begins in the stored layout; -1 for any other layout. */
function metadataStart(bytes: Uint8Array): number {
  if (!hasBytesAt(bytes, 0, beforeApiVersion)) return -1;
  const apiVersionEnd = bytes.indexOf(quoteByte, beforeApiVersion.length);
  if (apiVersionEnd === -1 || !hasBytesAt(bytes, apiVersionEnd, beforeKind)) return -1;
  const kindEnd = bytes.indexOf(quoteByte, apiVersionEnd + beforeKind.length);
  if (kindEnd === -1 || !hasBytesAt(bytes, kindEnd, beforeMetadata)) return -1;
  const start = kindEnd + beforeMetadata.length;
  return bytes[start] === openBrace ? start : -1;
}

function hasBytesAt(bytes: Uint8Array, at: number, part: Uint8Array): boolean {
  for (let i = 0; i < part.length; i++) if (bytes[at + i] !== part[i]) return false;
  return true;
}

/** Returns the index after the object that begins at `start`; -1 if the object is not closed. */
function objectEnd(bytes: Uint8Array, start: number): number {
  let depth = 0;
  for (let i = start; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === quoteByte) {
      i++;
      while (i < bytes.length && bytes[i] !== quoteByte) i += bytes[i] === backslash ? 2 : 1;
    } else if (byte === openBrace) {
      depth++;
    } else if (byte === closeBrace && --depth === 0) {
      return i + 1;
    }
  }
  return -1;
}
