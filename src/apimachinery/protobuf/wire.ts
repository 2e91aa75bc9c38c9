import { asBuffer } from '../../util/bytes.js';

/** An error in Protobuf's wire format, of which this file implements what Kubernetes' messages need. */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError';
}

/** Returns the error for a field that is written with another wire type than its own. */
export const wrongWireType = (wireType: number, goName: string): ProtobufError =>
  new ProtobufError(`proto: wrong wireType = ${wireType} for field ${goName}`);

export const wireVarint = 0;
export const wireFixed64 = 1;
export const wireBytes = 2;
const wireStartGroup = 3;
const wireEndGroup = 4;
const wireFixed32 = 5;

/** Writes a message from its end to its beginning, so that the length of an inner message is known when its header is written. */
export class ReverseWriter {
  private buffer: Buffer;
  private start: number;

  constructor(capacity = 1024) {
    this.buffer = Buffer.allocUnsafe(capacity);
    this.start = capacity;
  }

  /** The number of bytes written so far. */
  get length(): number {
    return this.buffer.length - this.start;
  }

  finish(): Buffer {
    return this.buffer.subarray(this.start);
  }

  private reserve(size: number): void {
    if (this.start >= size) return;
    const written = this.length;
    const capacity = Math.max(this.buffer.length * 2, written + size + 64);
    const larger = Buffer.allocUnsafe(capacity);
    this.buffer.copy(larger, capacity - written, this.start);
    this.buffer = larger;
    this.start = capacity - written;
  }

  bytes(value: Uint8Array): void {
    this.reserve(value.length);
    this.start -= value.length;
    this.buffer.set(value, this.start);
  }

  text(value: string): void {
    const size = Buffer.byteLength(value);
    this.reserve(size);
    this.start -= size;
    this.buffer.write(value, this.start, size, 'utf8');
  }

  varint(value: number): void {
    if (value < 0 || value > 0x7fffffff) {
      this.bigVarint(BigInt(value));
      return;
    }
    const size = value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x200000 ? 3 : value < 0x10000000 ? 4 : 5;
    this.reserve(size);
    this.start -= size;
    let at = this.start;
    let rest = value;
    while (rest >= 0x80) {
      this.buffer[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.buffer[at] = rest;
  }

  /** Writes a varint. Negative values are written in 64-bit two's complement. */
  bigVarint(value: bigint): void {
    let rest = BigInt.asUintN(64, value);
    const out: number[] = [];
    while (rest >= 0x80n) {
      out.push(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    out.push(Number(rest));
    this.bytes(Uint8Array.from(out));
  }

  double(value: number): void {
    this.reserve(8);
    this.start -= 8;
    this.buffer.writeDoubleLE(value, this.start);
  }

  tag(id: number, wireType: number): void {
    this.varint(id * 8 + wireType);
  }

  /** Writes the head of a field with a length. Its content is what was written since the writer had the length `before`. */
  head(id: number, before: number): void {
    this.varint(this.length - before);
    this.tag(id, wireBytes);
  }

  textField(id: number, text: string): void {
    const before = this.length;
    this.text(text);
    this.head(id, before);
  }
}

export function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) size++;
  return size;
}

/** Reads a message, and never beyond its end. */
export class WireReader {
  private readonly buffer: Buffer;
  private at = 0;

  constructor(bytes: Uint8Array) {
    this.buffer = asBuffer(bytes);
  }

  get done(): boolean {
    return this.at >= this.buffer.length;
  }

  /** The wire type of the field that `field` returned last. */
  wireType = 0;

  /** Returns the number of the next field of a message. Rejects invalid numbers as Go's generated code does. */
  field(message: string): number {
    const tag = this.size();
    this.wireType = tag % 8;
    if (this.wireType === wireEndGroup) throw new ProtobufError(`proto: ${message}: wiretype end group for non-group`);
    // Go keeps only 32 bits of the number.
    const id = Math.floor(tag / 8) | 0;
    if (id <= 0) throw new ProtobufError(`proto: ${message}: illegal tag ${id} (wire type ${tag})`);
    return id;
  }

  /** Reads an unsigned integer of up to 53 bits, for tags. */
  size(): number {
    const value = this.varint();
    if (value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER)) throw new ProtobufError('proto: integer overflow');
    return Number(value);
  }

  /** Reads a signed 64-bit integer. */
  varint(): bigint {
    let low = 0;
    let shift = 0;
    // Most integers fit into 28 bits, which need no bigint arithmetic.
    for (; shift < 28; shift += 7) {
      const byte = this.byte();
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt(low);
    }
    let value = BigInt(low);
    for (; shift < 70; shift += 7) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << BigInt(shift);
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw new ProtobufError('proto: integer overflow');
  }

  private byte(): number {
    const byte = this.buffer[this.at];
    if (byte === undefined) throw new ProtobufError('unexpected EOF');
    this.at++;
    return byte;
  }

  bytes(): Buffer {
    const length = this.varint();
    if (length < 0n) throw new ProtobufError('proto: negative length found during unmarshaling');
    const size = Number(length);
    if (size > this.buffer.length - this.at) throw new ProtobufError('unexpected EOF');
    this.at += size;
    return this.buffer.subarray(this.at - size, this.at);
  }

  text(): string {
    return this.bytes().toString();
  }

  double(): number {
    if (this.buffer.length - this.at < 8) throw new ProtobufError('unexpected EOF');
    this.at += 8;
    return this.buffer.readDoubleLE(this.at - 8);
  }

  /** Skips the rest of a field, or of a group with everything in it. */
  skip(wireType: number): void {
    let depth = 0;
    let current = wireType;
    for (;;) {
      if (current === wireStartGroup) depth++;
      else if (current !== wireEndGroup) this.skipValue(current);
      else if (depth === 0) throw new ProtobufError('proto: unexpected end of group');
      else depth--;
      if (depth === 0) return;
      current = this.size() % 8;
    }
  }

  private skipValue(wireType: number): void {
    if (wireType === wireVarint) this.varint();
    else if (wireType === wireBytes) this.bytes();
    else if (wireType === wireFixed64) this.advance(8);
    else if (wireType === wireFixed32) this.advance(4);
    else throw new ProtobufError(`proto: illegal wireType ${wireType}`);
  }

  private advance(size: number): void {
    if (this.buffer.length - this.at < size) throw new ProtobufError('unexpected EOF');
    this.at += size;
  }
}
