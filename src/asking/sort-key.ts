import { Double, Duration, Quantity, Timestamp, Uint, type Value } from '@annex/cel';

/*
 * The keys of an order as bytes, in the order that the values have: a byte for the type (values of different types are grouped by it), then
 * the value. No key is the beginning of another one, so that those of several expressions can be joined. With `desc`, all bits are inverted.
 */

const BOOL = 1;
const INT = 2;
const UINT = 3;
const DOUBLE = 4;
const STRING = 5;
const TIMESTAMP = 6;
const DURATION = 7;
const QUANTITY = 8;
/** A value that is missing, or of a type without an order, comes last, in either direction. */
const MISSING = Buffer.from([0xff]);

/** Returns the key of a value; `undefined` is a missing one. */
export function sortKey(value: Value | undefined, descending: boolean): Uint8Array {
  const key = value === undefined ? undefined : encode(value);
  if (key === undefined) return MISSING;
  if (descending) for (let i = 0; i < key.length; i++) key[i] = 0xff ^ (key[i] ?? 0);
  return key;
}

function encode(value: Value): Buffer | undefined {
  switch (typeof value) {
    case 'boolean':
      return Buffer.from([BOOL, value ? 1 : 0]);
    case 'number':
    case 'bigint':
      return int64(INT, BigInt(value));
    case 'string':
      return text(value);
    default:
  }
  if (value instanceof Uint) return int64(UINT, value.value - (1n << 63n));
  if (value instanceof Double) return double(value.value);
  if (value instanceof Timestamp) {
    const key = Buffer.allocUnsafe(13);
    int64(TIMESTAMP, BigInt(value.seconds)).copy(key);
    key.writeUInt32BE(value.nanos, 9);
    return key;
  }
  if (value instanceof Duration) return int64(DURATION, value.nanos);
  return value instanceof Quantity ? bigInteger(QUANTITY, value.nanos) : undefined;
}

/** The sign bit is inverted, so that negative numbers come first. */
function int64(type: number, value: bigint): Buffer {
  const key = Buffer.allocUnsafe(9);
  key[0] = type;
  key.writeBigInt64BE(BigInt.asIntN(64, value ^ (1n << 63n)), 1);
  return key;
}

/** Of negative numbers all bits are inverted, since they grow with their distance from 0. A NaN comes first, as in Go. */
function double(value: number): Buffer {
  const key = Buffer.allocUnsafe(9);
  key[0] = DOUBLE;
  if (Number.isNaN(value)) return key.fill(0, 1);
  // -0 equals 0.
  key.writeDoubleBE(value + 0, 1);
  if (value < 0) for (let i = 1; i < 9; i++) key[i] = 0xff ^ (key[i] ?? 0);
  else key[1] = (key[1] ?? 0) | 0x80;
  return key;
}

/** UTF-8 has the order of the code points. A zero in the text is followed by 0xff, and the end by 0, which is before every text that goes on. */
function text(value: string): Buffer {
  if (value.includes('\0')) return escaped(value);
  const key = Buffer.allocUnsafe(3 + Buffer.byteLength(value));
  key[0] = STRING;
  const end = 1 + key.write(value, 1);
  key[end] = 0;
  key[end + 1] = 0;
  return key;
}

function escaped(value: string): Buffer {
  const parts: Buffer[] = [Buffer.from([STRING])];
  value.split('\0').forEach((part, i) => {
    if (i > 0) parts.push(Buffer.from([0, 0xff]));
    parts.push(Buffer.from(part));
  });
  return Buffer.concat([...parts, Buffer.from([0, 0])]);
}

/** The sign, the number of bytes, and the bytes; of a negative number, all but the sign inverted. */
function bigInteger(type: number, value: bigint): Buffer {
  const magnitude = (value < 0n ? -value : value).toString(16);
  const digits = Buffer.from(magnitude.padStart(magnitude.length + (magnitude.length % 2), '0'), 'hex');
  const key = Buffer.allocUnsafe(6 + digits.length);
  key[0] = type;
  key[1] = value < 0n ? 0 : 1;
  key.writeUInt32BE(digits.length, 2);
  digits.copy(key, 6);
  if (value < 0n) for (let i = 2; i < key.length; i++) key[i] = 0xff ^ (key[i] ?? 0);
  return key;
}
