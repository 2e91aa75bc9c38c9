import { isInt64 } from '../../go/int64.js';
import { asBuffer } from '../../util/bytes.js';
import type { JsonObject, JsonValue } from '../json/json.js';
import type { FloatLiterals } from '../json/parser.js';

/** An error in bytes that are not CBOR, or that contain something kube-apiserver's CBOR never allows. */
export class CborError extends Error {
  override readonly name = 'CborError';
}

const majors = [
  'positive integer',
  'negative integer',
  'byte string',
  'UTF-8 text string',
  'array',
  'map',
  'tag',
  'primitives',
] as const;

/** Returns the kind of an item, as error messages name it. */
export const cborTypeOf = (bytes: Uint8Array): string => majors[(bytes[0] ?? 0) >> 5] ?? '';

const BYTES = 2;
const TEXT = 3;
const ARRAY = 4;
const MAP = 5;
const TAG = 6;
const PRIMITIVES = 7;
const INDEFINITE = 31;
const BREAK = 0xff;

const maxDepth = 10_000;
const maxElements = 2_147_483_647;

/** The text encodings of byte strings under a tag of an "expected later encoding". */
const laterEncodings: Readonly<Record<number, 'base64url' | 'base64' | 'hex'>> = {
  21: 'base64url',
  22: 'base64',
  23: 'hex',
};

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads one data item into a JSON tree. Throws CborError if it is malformed. */
export class CborReader {
  /** The first problem of a well-formed item, which kube-apiserver finds only when it knows the object's type. */
  problem: string | undefined;
  /** True if the problem is a duplicate `kind` or `apiVersion`. */
  hasDuplicateType = false;
  /** The whole floats, as they would be written in JSON. */
  readonly floats: FloatLiterals = new Map<JsonObject | JsonValue[], Map<string, string>>();
  /** True if the item just read is a whole float. */
  private wholeFloat = false;
  private readonly bytes: Buffer;
  private at = 0;
  /** True once a map has been entered. */
  private entered = false;

  constructor(bytes: Uint8Array) {
    this.bytes = asBuffer(bytes);
  }

  read(): JsonValue {
    if (this.bytes.length === 0) throw new CborError('EOF');
    const value = this.outermost();
    const rest = this.bytes.length - this.at;
    if (rest > 0) throw new CborError(`cbor: ${rest} bytes of extraneous data starting at index ${this.at}`);
    return value;
  }

  private outermost(): JsonValue {
    try {
      return this.item(0);
    } catch (error) {
      if (error instanceof CborError) throw error;
      // The only other error is a stack overflow, which may occur before the maximum depth.
      throw new CborError(`cbor: exceeded max nested level ${maxDepth}`);
    }
  }

  private refuse(problem: string): null {
    this.problem ??= problem;
    return null;
  }

  private item(depth: number): JsonValue {
    if (depth > maxDepth) throw new CborError(`cbor: exceeded max nested level ${maxDepth}`);
    const first = this.byte();
    const major = first >> 5;
    const info = first & 31;
    if (major === PRIMITIVES) return this.primitive(info);
    if (info > 27 && (info !== INDEFINITE || major < BYTES || major === TAG)) {
      throw new CborError(`cbor: invalid additional information ${info} for type ${majors[major] ?? ''}`);
    }
    const count = info === INDEFINITE ? undefined : this.count(info);
    switch (major) {
      case 0:
        return this.integer(BigInt(count ?? 0), major);
      case 1:
        return this.integer(-1n - BigInt(count ?? 0), major);
      case BYTES:
        return this.string(major, count).toString();
      case TEXT:
        return this.text(this.string(major, count));
      case ARRAY:
        return this.array(count, depth);
      case MAP:
        return this.map(count, depth);
      default:
        return this.tagged(Number(count), depth);
    }
  }

  private byte(): number {
    const byte = this.bytes[this.at];
    if (byte === undefined) throw new CborError('unexpected EOF');
    this.at++;
    return byte;
  }

  private take(size: number): Buffer {
    if (size > this.bytes.length - this.at) throw new CborError('unexpected EOF');
    this.at += size;
    return this.bytes.subarray(this.at - size, this.at);
  }

  private count(info: number): number | bigint {
    if (info < 24) return info;
    if (info === 24) return this.byte();
    if (info === 25) return this.take(2).readUInt16BE();
    if (info === 26) return this.take(4).readUInt32BE();
    const value = this.take(8).readBigUInt64BE();
    return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
  }

  private integer(value: bigint, major: number): JsonValue {
    const number = Number(value);
    if (Number.isSafeInteger(number)) return number;
    if (isInt64(value)) return value;
    return this.refuse(
      `cbor: cannot unmarshal ${majors[major] ?? ''} into Go value of type int64 (${value} overflows Go's int64)`,
    );
  }

  /** Returns the bytes of a string, which may come in chunks. */
  private string(major: number, count: number | bigint | undefined): Buffer {
    if (count !== undefined) return this.take(Number(count));
    const parts: Buffer[] = [];
    for (let first = this.byte(); first !== BREAK; first = this.byte()) {
      if (first >> 5 !== major) {
        const wrong = majors[first >> 5] ?? '';
        throw new CborError(`cbor: wrong element type ${wrong} for indefinite-length ${majors[major] ?? ''}`);
      }
      if ((first & 31) === INDEFINITE)
        throw new CborError(`cbor: indefinite-length ${majors[major] ?? ''} chunk is not definite-length`);
      if ((first & 31) > 27)
        throw new CborError(`cbor: invalid additional information ${first & 31} for type ${majors[major] ?? ''}`);
      parts.push(this.take(Number(this.count(first & 31))));
    }
    return Buffer.concat(parts);
  }

  private text(bytes: Buffer): JsonValue {
    const text = bytes.toString();
    // Invalid UTF-8 always yields a replacement character.
    if (!text.includes('\ufffd')) return text;
    try {
      return utf8.decode(bytes);
    } catch {
      this.refuse('cbor: invalid UTF-8 string');
      return '';
    }
  }

  /** Reports whether another element follows. */
  private hasMore(done: number, count: number | bigint | undefined): boolean {
    if (count !== undefined) return done < Number(count);
    if (this.bytes[this.at] !== BREAK) return true;
    this.at++;
    return false;
  }

  private array(count: number | bigint | undefined, depth: number): JsonValue {
    if (count !== undefined && count > maxElements)
      throw new CborError(`cbor: exceeded max number of elements ${maxElements} for CBOR array`);
    const items: JsonValue[] = [];
    while (this.hasMore(items.length, count)) {
      const item = this.item(depth + 1);
      this.noteFloat(items, items.length, item);
      items.push(item);
    }
    return items;
  }

  private map(count: number | bigint | undefined, depth: number): JsonValue {
    if (count !== undefined && count > maxElements)
      throw new CborError(`cbor: exceeded max number of key-value pairs ${maxElements} for CBOR map`);
    const out: JsonObject = {};
    const outermost = !this.entered;
    this.entered = true;
    for (let index = 0; this.hasMore(index, count); index++) {
      const major = (this.bytes[this.at] ?? 0) >> 5;
      const key = this.item(depth + 1) ?? '';
      let name = '';
      if (typeof key === 'string') name = key;
      else this.refuse(`cbor: cannot unmarshal ${majors[major] ?? ''} into Go value of type string`);
      if (Object.hasOwn(out, name)) {
        if (outermost && this.problem === undefined) this.hasDuplicateType = name === 'kind' || name === 'apiVersion';
        this.refuse(`cbor: found duplicate map key ${JSON.stringify(name)} at map element index ${index}`);
      }
      this.wholeFloat = false;
      const value = this.item(depth + 1);
      this.noteFloat(out, name, value);
      out[name] = value;
    }
    return out;
  }

  /** Reads the content of a tag. A tag without a meaning here yields its content unchanged. */
  private tagged(tag: number, depth: number): JsonValue {
    if (tag === 2 || tag === 3)
      throw new CborError('cbor: data item of cbor type tag is not accepted by protocol: bignum');
    const first = this.bytes[this.at] ?? 0;
    const major = first >> 5;
    const encoding = laterEncodings[tag];
    if (encoding !== undefined && major === BYTES) {
      this.at++;
      if ((first & 31) > 27 && (first & 31) !== INDEFINITE)
        throw new CborError(`cbor: invalid additional information ${first & 31} for type byte string`);
      const count = (first & 31) === INDEFINITE ? undefined : this.count(first & 31);
      return this.string(BYTES, count).toString(encoding);
    }
    const value = this.item(depth + 1);
    if (tag === 0 && major !== TEXT)
      return this.refuse(`cbor: tag number 0 must be followed by text string, got ${majors[major] ?? ''}`);
    if (tag === 1 && typeof value !== 'number' && typeof value !== 'bigint') {
      const got = majors[major] ?? '';
      return this.refuse(`cbor: tag number 1 must be followed by integer or floating-point number, got ${got}`);
    }
    return value;
  }

  private primitive(info: number): JsonValue {
    if (info === 20 || info === 21) return info === 21;
    if (info === 22) return null;
    if (info === 25) return this.float(half(this.take(2).readUInt16BE()));
    if (info === 26) return this.float(this.take(4).readFloatBE());
    if (info === 27) return this.float(this.take(8).readDoubleBE());
    if (info === INDEFINITE) throw new CborError('cbor: unexpected "break" code');
    if (info > 27) throw new CborError(`cbor: invalid additional information ${info} for type primitives`);
    const value = info === 24 ? this.byte() : info;
    if (info === 24 && value < 32) throw new CborError(`cbor: invalid simple value ${value} for type primitives`);
    return this.refuse(`${NOT_ACCEPTED}: simple value ${value} is not recognized`);
  }

  private noteFloat(holder: JsonObject | JsonValue[], key: string | number, value: JsonValue): void {
    if (!this.wholeFloat) return;
    this.wholeFloat = false;
    const members = this.floats.get(holder) ?? new Map<string, string>();
    members.set(String(key), `${Object.is(value, -0) ? '-' : ''}${Number(value)}.0`);
    this.floats.set(holder, members);
  }

  private float(value: number): number {
    if (Number.isNaN(value)) throw new CborError(`${NOT_ACCEPTED}: floating-point NaN`);
    if (!Number.isFinite(value)) throw new CborError(`${NOT_ACCEPTED}: floating-point infinity`);
    this.wholeFloat = Number.isSafeInteger(value);
    return value;
  }
}

const NOT_ACCEPTED = 'cbor: data item of cbor type primitives is not accepted by protocol';

/** Decodes a 16-bit IEEE 754 float. */
function half(bits: number): number {
  const sign = (bits & 0x8000) === 0 ? 1 : -1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
