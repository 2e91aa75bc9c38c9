import { encode, Token, Type } from 'cborg';
import type { JsonObject, JsonValue } from '../json/json.js';

/**
 * The tag of self-described CBOR. As in kube-apiserver, strings are written as byte strings (whose content needs no validation),
 * a whole object begins with this tag, and a byte string under an "expected later encoding" tag is read as text in that encoding.
 */
const selfDescribedTag = Buffer.from([0xd9, 0xd9, 0xf7]);

const encodeOptions = {
  float64: false,
  typeEncoders: {
    string: (text: string) => new Token(Type.bytes, Buffer.from(text)),
    undefined: () => [] as never,
  },
};

/** Encodes a value, without the tag of self-described CBOR. */
export function encodeCbor(value: JsonValue): Uint8Array {
  return encode(withoutUndefined(value), encodeOptions);
}

/** Drops undefined members, as JSON does: CBOR has an undefined value, which kube-apiserver rejects. */
function withoutUndefined(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutUndefined);
  const out: JsonObject = {};
  for (const key in value) {
    const member = value[key];
    if (member !== undefined) out[key] = withoutUndefined(member);
  }
  return out;
}

export const selfDescribed = (item: Uint8Array): Uint8Array => Buffer.concat([selfDescribedTag, item]);

/** Encodes a watch event. `object` is self-described. Events follow each other without separators. */
export function encodeCborEvent(type: string, object: Uint8Array): Uint8Array {
  return Buffer.concat([
    selfDescribedTag,
    head(majorMap, 2),
    encodeCbor('type'),
    encodeCbor(type),
    encodeCbor('object'),
    object,
  ]);
}

/** Encodes what precedes the items of a list: the other members, then the key of the items and their number. */
export function cborListHead(members: JsonObject, itemsKey: string, count: number): Uint8Array {
  const parts: Uint8Array[] = [selfDescribedTag, head(majorMap, Object.keys(members).length + 1)];
  for (const key in members) parts.push(encodeCbor(key), encodeCbor(members[key] ?? null));
  parts.push(encodeCbor(itemsKey), head(majorArray, count));
  return Buffer.concat(parts);
}

export const cborListTail = new Uint8Array(0);

const majorArray = 4;
const majorMap = 5;

/** Encodes the head of an item with a count, in the shortest form. */
function head(major: number, count: number): Uint8Array {
  const first = major << 5;
  if (count < 24) return Buffer.from([first | count]);
  if (count < 0x100) return Buffer.from([first | 24, count]);
  if (count < 0x10000) return Buffer.from([first | 25, count >> 8, count & 0xff]);
  const bytes = Buffer.alloc(5);
  bytes.writeUInt8(first | 26, 0);
  bytes.writeUInt32BE(count, 1);
  return bytes;
}
