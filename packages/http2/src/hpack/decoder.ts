import { HpackError } from './error.js';
import { decodeHuffman } from './huffman.js';
import { STATIC_TABLE } from './static-table.js';

/** The size of a field in the dynamic table beyond its text (RFC 7541, section 4.1). */
const FIELD_OVERHEAD = 32;
/** The maximum size of the dynamic table unless a setting changes it. Annex sends no such setting. */
const TABLE_BYTES = 4096;
/** A limit above any valid length or index in a header block. */
const LARGEST_INTEGER = 1 << 28;

/** A received header field. Fields in the tables are shared between requests. */
export interface HeaderField {
  readonly name: string;
  readonly value: string;
  /** True if name and value contain only valid characters. */
  readonly valid: boolean;
}

const STATIC_FIELDS: readonly HeaderField[] = STATIC_TABLE.map(([name, value]) => ({ name, value, valid: true }));

/** A field name: a token in lower case, or a pseudo-header, which begins with a colon (RFC 9113, section 8.2.1). */
const NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** Spaces around a value are accepted, although section 8.2.1 forbids them: clients send `Bearer ` with an empty token. */
const FORBIDDEN = /[\0-\x08\x0a-\x1f\x7f]/;

const NOTHING: Buffer = Buffer.alloc(0);

/** Decodes the header blocks of one connection (RFC 7541). */
export class HpackDecoder {
  /** The fields of the dynamic table, oldest first. */
  private readonly dynamic: HeaderField[] = [];
  /** The index of the oldest field. Those before it have been evicted. */
  private oldest = 0;
  private bytes = 0;
  private maxTableBytes = TABLE_BYTES;
  private block = NOTHING;
  private at = 0;

  /**
   * Decodes the fields of a header block. `limit` is in bytes, counted as for SETTINGS_MAX_HEADER_LIST_SIZE. A larger block, or one with
   * more than `mostFields`, is decoded all the same to keep the dynamic table in sync, but the result is undefined. Throws a HpackError.
   */
  decode(block: Buffer, limit: number, mostFields = Infinity): HeaderField[] | undefined {
    this.block = block;
    this.at = 0;
    const fields: HeaderField[] = [];
    let size = 0;
    let count = 0;
    while (this.at < block.length) {
      const byte = block[this.at] as number;
      let field: HeaderField;
      if ((byte & 0x80) !== 0) field = this.indexed(this.integer(7));
      else if ((byte & 0x40) !== 0) {
        field = this.literal(6);
        this.add(field);
      } else if ((byte & 0x20) !== 0) {
        if (count > 0) throw new HpackError('dynamic table size update after a field of the block');
        this.resize(this.integer(5));
        continue;
      } else field = this.literal(4);
      size += field.name.length + field.value.length + FIELD_OVERHEAD;
      count++;
      if (size <= limit && count <= mostFields) fields.push(field);
    }
    this.block = NOTHING;
    return size <= limit && count <= mostFields ? fields : undefined;
  }

  private indexed(index: number): HeaderField {
    if (index <= STATIC_FIELDS.length) {
      const field = STATIC_FIELDS[index - 1];
      if (field !== undefined) return field;
    } else {
      const at = this.dynamic.length - (index - STATIC_FIELDS.length);
      const field = at < this.oldest ? undefined : this.dynamic[at];
      if (field !== undefined) return field;
    }
    throw new HpackError(`invalid field index ${index}`);
  }

  private literal(prefix: number): HeaderField {
    const index = this.integer(prefix);
    const name = index === 0 ? this.text() : this.indexed(index).name;
    const value = this.text();
    return { name, value, valid: NAME.test(name) && !FORBIDDEN.test(value) };
  }

  private text(): string {
    const huffman = ((this.block[this.at] ?? 0) & 0x80) !== 0;
    const length = this.integer(7);
    const start = this.at;
    const end = start + length;
    if (end > this.block.length) throw new HpackError('a string exceeds the header block');
    this.at = end;
    if (huffman) return decodeHuffman(this.block, start, end);
    return this.block.toString('latin1', start, end);
  }

  /** Reads an integer that begins in the low bits of the current byte (RFC 7541, section 5.1). */
  private integer(prefix: number): number {
    const mask = (1 << prefix) - 1;
    const first = this.block[this.at++];
    if (first === undefined) throw new HpackError('the header block ends within a field');
    let value = first & mask;
    if (value < mask) return value;
    for (let shift = 0; ; shift += 7) {
      const byte = this.block[this.at++];
      if (byte === undefined) throw new HpackError('the header block ends within an integer');
      value += (byte & 0x7f) * 2 ** shift;
      if (value > LARGEST_INTEGER || shift > 28) throw new HpackError('an integer is too large');
      if ((byte & 0x80) === 0) return value;
    }
  }

  private add(field: HeaderField): void {
    const size = field.name.length + field.value.length + FIELD_OVERHEAD;
    this.evictTo(this.maxTableBytes - size);
    // Adding a field larger than the table empties the table.
    if (size > this.maxTableBytes) return;
    this.dynamic.push(field);
    this.bytes += size;
  }

  private resize(bytes: number): void {
    if (bytes > TABLE_BYTES) throw new HpackError('the dynamic table size exceeds the limit');
    this.maxTableBytes = bytes;
    this.evictTo(bytes);
  }

  private evictTo(bytes: number): void {
    while (this.bytes > bytes && this.oldest < this.dynamic.length) {
      const { name, value } = this.dynamic[this.oldest++] as HeaderField;
      this.bytes -= name.length + value.length + FIELD_OVERHEAD;
    }
    // Indices count from the end, so the evicted fields at the front can be removed at any time.
    if (this.oldest > 128) {
      this.dynamic.splice(0, this.oldest);
      this.oldest = 0;
    }
  }
}
