import { decode, encode, Token, Type } from 'cborg';
import { type JsonObject, type JsonValue } from '../json.js';
import { messageOf } from '../../util/error-message.js';

/**
 * CBOR as kube-apiserver speaks it: texts are written as byte strings (which need no check of their content), a whole object
 * begins with the tag of self-described CBOR, and a byte string under an "expected later encoding" tag is read as that
 * encoding's text.
 */
const selfDescribedTag = Buffer.from([0xd9, 0xd9, 0xf7]);

const encodeOptions = {
  float64: false,
  typeEncoders: {
    string: (text: string) => new Token(Type.bytes, Buffer.from(text)),
    undefined: () => [] as never,
  },
};

export class CborError extends Error {
  override readonly name = 'CborError';
}

/** The value without the tag of self-described CBOR. */
export function encodeCbor(value: JsonValue): Uint8Array {
  return encode(withoutUndefined(value), encodeOptions);
}

/** CBOR has a value for undefined that kube-apiserver refuses; in JSON such members are absent. */
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

/** A watch event; `object` is self-described. Events follow each other without separators. */
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

/** What precedes the items of a list: the other members, then the key of the items and their number. */
export function cborListHead(members: JsonObject, itemsKey: string, count: number): Uint8Array {
  const parts: Uint8Array[] = [selfDescribedTag, head(majorMap, Object.keys(members).length + 1)];
  for (const key in members) parts.push(encodeCbor(key), encodeCbor(members[key] ?? null));
  parts.push(encodeCbor(itemsKey), head(majorArray, count));
  return Buffer.concat(parts);
}

export const cborListTail = new Uint8Array(0);

const majorArray = 4;
const majorMap = 5;

/** The head of an item with a count, in the shortest form. */
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

type TagContent = () => unknown;

const tagDecoders: Record<number, (content: TagContent) => unknown> = {
  21: (content) => encodedLater(content(), 'base64url'),
  22: (content) => encodedLater(content(), 'base64'),
  23: (content) => encodedLater(content(), 'hex'),
};

function encodedLater(content: unknown, encoding: 'base64url' | 'base64' | 'hex'): unknown {
  return content instanceof Uint8Array ? new LaterText(Buffer.from(content).toString(encoding)) : content;
}

/** A text that came out of a byte string already. */
class LaterText {
  constructor(readonly text: string) {}
}

/** Tags without a meaning here give their content; those of arbitrary-precision integers are refused, as kube-apiserver does. */
const tags = new Proxy(tagDecoders, {
  get: (known, tag) => {
    const number = Number(tag);
    if (number === 2 || number === 3) {
      return () => {
        throw new CborError('cbor: bignum tags are not accepted');
      };
    }
    return known[number] ?? ((content: TagContent) => content());
  },
});

const decodeOptions = {
  allowIndefinite: true,
  allowUndefined: false,
  allowNaN: false,
  allowInfinity: false,
  allowBigInt: true,
  rejectDuplicateMapKeys: true,
  useMaps: true,
  tags: tags as never,
};

/** One data item. Throws CborError where it is malformed or holds something that JSON cannot. */
export function decodeCbor(bytes: Uint8Array): JsonValue {
  let value: unknown;
  try {
    value = decode(bytes, decodeOptions);
  } catch (error) {
    throw error instanceof CborError ? error : new CborError(messageOf(error));
  }
  return toJson(value, 0);
}

const maxDepth = 10_000;
const minInt64 = -(2n ** 63n);
const maxInt64 = 2n ** 63n - 1n;

function toJson(value: unknown, depth: number): JsonValue {
  if (depth > maxDepth) throw new CborError(`cbor: exceeded max nested level ${maxDepth}`);
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null)
    return value;
  if (typeof value === 'bigint') {
    if (value < minInt64 || value > maxInt64) throw new CborError(`cbor: ${value} overflows Go's int64`);
    return value;
  }
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString();
  if (value instanceof LaterText) return value.text;
  if (Array.isArray(value)) return value.map((item) => toJson(item, depth + 1));
  if (value instanceof Map) return toObject(value, depth);
  throw new CborError(`cbor: cannot read a ${typeof value} as JSON`);
}

function toObject(map: ReadonlyMap<unknown, unknown>, depth: number): JsonObject {
  const out: JsonObject = {};
  for (const [key, value] of map) {
    const name = toJson(key, depth + 1);
    if (typeof name !== 'string') throw new CborError('cbor: keys of maps must be strings');
    if (Object.hasOwn(out, name)) throw new CborError(`cbor: found duplicate map key ${JSON.stringify(name)}`);
    out[name] = toJson(value, depth + 1);
  }
  return out;
}
