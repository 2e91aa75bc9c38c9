import { isUtf8 } from 'node:buffer';
import { integer } from '../values/integer.js';
import { ArrayList, CelError, Double, EntryMap, Uint, type Value } from '../values/value.js';
import { chargeWork } from '../work.js';

/** Thrown for a message that cannot be decoded. */
class Unreadable extends Error {}

type Wire = bigint | Uint8Array;
/** The fields of a message by number, in order. */
type Fields = ReadonlyMap<number, readonly Wire[]>;

const MAX_DEPTH = 100;

class Reader {
  private at = 0;
  constructor(private readonly bytes: Uint8Array) {}

  fields(): Fields {
    const fields = new Map<number, Wire[]>();
    while (this.at < this.bytes.length) {
      const tag = this.varint();
      const value = this.value(Number(tag & 7n));
      const number = Number(tag >> 3n);
      const known = fields.get(number);
      if (known === undefined) fields.set(number, [value]);
      else known.push(value);
    }
    return fields;
  }

  private varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) break;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new Unreadable();
  }

  private value(kind: number): Wire {
    switch (kind) {
      case 0:
        return this.varint();
      case 1:
        return this.take(8);
      case 2:
        return this.take(Number(this.varint()));
      case 5:
        return this.take(4);
      default:
        throw new Unreadable();
    }
  }

  private take(length: number): Uint8Array {
    if (length > this.bytes.length - this.at) throw new Unreadable();
    return this.bytes.subarray(this.at, (this.at += length));
  }
}

const fieldsOf = (bytes: Uint8Array): Fields => new Reader(bytes).fields();

function number(fields: Fields, field: number): bigint {
  const value = fields.get(field)?.at(-1) ?? 0n;
  if (typeof value !== 'bigint') throw new Unreadable();
  return value;
}

function bytes(fields: Fields, field: number): Uint8Array {
  const value = fields.get(field)?.at(-1) ?? new Uint8Array(0);
  if (typeof value === 'bigint') throw new Unreadable();
  return value;
}

function text(fields: Fields, field: number): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes(fields, field));
  } catch {
    throw new Unreadable();
  }
}

function float(fields: Fields, field: number, size: 4 | 8): number {
  const value = bytes(fields, field);
  if (value.length === 0) return 0;
  if (value.length !== size) throw new Unreadable();
  const view = new DataView(value.buffer, value.byteOffset);
  return size === 4 ? view.getFloat32(0, true) : view.getFloat64(0, true);
}

const signed = (value: bigint, bits: number): Value => integer(BigInt.asIntN(bits, value)) ?? 0;

/** Decodes a google.protobuf.Value. */
function json(fields: Fields, depth: number): Value {
  if (depth > MAX_DEPTH) throw new Unreadable();
  const last = [...fields.keys()].at(-1);
  switch (last) {
    case 2:
      return new Double(float(fields, 2, 8));
    case 3:
      return text(fields, 3);
    case 4:
      return number(fields, 4) !== 0n;
    case 5:
      return struct(fieldsOf(bytes(fields, 5)), depth + 1);
    case 6:
      return list(fieldsOf(bytes(fields, 6)), depth + 1);
    default:
      return null;
  }
}

function list(fields: Fields, depth: number): Value {
  const items = (fields.get(1) ?? []).map((item) => {
    if (typeof item === 'bigint') throw new Unreadable();
    return json(fieldsOf(item), depth);
  });
  return new ArrayList(items);
}

function struct(fields: Fields, depth: number): Value {
  const map = new EntryMap();
  for (const entry of fields.get(1) ?? []) {
    if (typeof entry === 'bigint') throw new Unreadable();
    const pair = fieldsOf(entry);
    map.set(text(pair, 1), json(fieldsOf(bytes(pair, 2)), depth));
  }
  return map;
}

type Create = (fields: ReadonlyMap<string, Value>) => Value;

/** Decoders of the messages that CEL represents as values of its own. */
const READERS: Readonly<Record<string, (fields: Fields, create: Create) => Value>> = {
  BoolValue: (fields) => number(fields, 1) !== 0n,
  BytesValue: (fields) => bytes(fields, 1),
  DoubleValue: (fields) => new Double(float(fields, 1, 8)),
  FloatValue: (fields) => new Double(float(fields, 1, 4)),
  Int32Value: (fields) => signed(number(fields, 1), 32),
  Int64Value: (fields) => signed(number(fields, 1), 64),
  StringValue: (fields) => text(fields, 1),
  UInt32Value: (fields) => new Uint(BigInt.asUintN(32, number(fields, 1))),
  UInt64Value: (fields) => new Uint(number(fields, 1)),
  Timestamp: secondsAndNanos,
  Duration: secondsAndNanos,
  Struct: (fields) => struct(fields, 0),
  ListValue: (fields) => list(fields, 0),
  Value: (fields) => json(fields, 0),
};

function secondsAndNanos(fields: Fields, create: Create): Value {
  const parts = [
    ['seconds', signed(number(fields, 1), 64)],
    ['nanos', signed(number(fields, 2), 32)],
  ] as const;
  return create(new Map<string, Value>(parts));
}

const PREFIX = 'google.protobuf.';

/**
 * The value of `google.protobuf.Any{…}`: the value of the message in it, if CEL represents such messages as values,
 * otherwise an error. `create` returns the constructor for messages that are not wrappers.
 */
export function unpacked(fields: ReadonlyMap<string, Value>, create: (message: string) => Create | undefined): Value {
  const url = fields.get('type_url');
  const given = fields.get('value');
  const packed = given instanceof Uint8Array ? given : new Uint8Array(0);
  const type = typeof url === 'string' ? url.slice(url.lastIndexOf('/') + 1) : '';
  const name = type.startsWith(PREFIX) ? type.slice(PREFIX.length) : '';
  chargeWork(packed.length);
  const read = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
  try {
    if (read !== undefined) return read(fieldsOf(packed), create(name) ?? (() => null));
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
  }
  const parts = [
    typeof url === 'string' && url !== '' ? `type_url:${quoted(Buffer.from(url))}` : '',
    packed.length > 0 ? `value:${quoted(packed)}` : '',
  ].filter((part) => part !== '');
  return new CelError(`unsupported conversion to ref.Val: (*dynamicpb.Message)${parts.join(' ')}`);
}

const ESCAPES: Readonly<Record<string, string>> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };
const hex = (byte: number): string => `\\x${byte.toString(16).padStart(2, '0')}`;

/** Formats bytes like the protobuf text format: bytes that are not valid UTF-8 are escaped one by one. */
function quoted(value: Uint8Array): string {
  let result = '';
  for (let at = 0; at < value.length;) {
    const length = sequenceLength(value, at);
    if (length === 0) result += hex(value[at] ?? 0);
    else {
      const char = Buffer.from(value.subarray(at, at + length)).toString();
      const control = length === 1 && ((value[at] ?? 0) < 0x20 || value[at] === 0x7f);
      result += ESCAPES[char] ?? (control ? hex(value[at] ?? 0) : char);
    }
    at += Math.max(1, length);
  }
  return `"${result}"`;
}

/** Returns the length of the UTF-8 sequence at an index, or 0 if it is not valid UTF-8. */
function sequenceLength(value: Uint8Array, at: number): number {
  const first = value[at] ?? 0;
  const length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length <= 1) return length;
  const part = value.subarray(at, at + length);
  return part.length === length && isUtf8(part) ? length : 0;
}
