import { HpackError } from './error.js';
import { decodeHuffman } from './huffman.js';
import { STATIC_TABLE } from './static-table.js';

/** What a field costs in the table besides its text (RFC 7541, section 4.1). */
const FIELD_OVERHEAD = 32;
/** What the table may hold unless a setting says otherwise; Annex sends none. */
const TABLE_BYTES = 4096;
/** Beyond every length and index that can stand in a block. */
const LARGEST_INTEGER = 1 << 28;

/** A field as it came. Fields of the tables are shared between requests. */
export interface HeaderField {
  readonly name: string;
  readonly value: string;
  /** Whether name and value have the characters that they may have. */
  readonly valid: boolean;
}

const STATIC_FIELDS: readonly HeaderField[] = STATIC_TABLE.map(([name, value]) => ({ name, value, valid: true }));

/** Tokens in lower case, with the colon that pseudo-headers begin with (RFC 9113, section 8.2.1). */
const NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** Spaces around a value are no mistake, though section 8.2.1 calls them one: clients send `Bearer ` with an empty token. */
const FORBIDDEN = /[\0-\x08\x0a-\x1f\x7f]/;

const NOTHING: Buffer = Buffer.alloc(0);

/** Decodes the header blocks of one connection (RFC 7541). */
export class HpackDecoder {
  /** The oldest field first. */
  private readonly dynamic: HeaderField[] = [];
  /** Where the oldest field stands: those before it have been dropped. */
  private oldest = 0;
  private bytes = 0;
  private most = TABLE_BYTES;
  private block = NOTHING;
  private at = 0;

  /**
   * The fields of a block. `limit`: bytes, counted as in SETTINGS_MAX_HEADER_LIST_SIZE; beyond them the rest is decoded, because the
   * table has to follow, and thrown away: undefined. Throws a HpackError.
   */
  decode(block: Buffer, limit: number): HeaderField[] | undefined {
    this.block = block;
    this.at = 0;
    const fields: HeaderField[] = [];
    let size = 0;
    while (this.at < block.length) {
      const byte = block[this.at] as number;
      let field: HeaderField;
      if ((byte & 0x80) !== 0) field = this.indexed(this.integer(7));
      else if ((byte & 0x40) !== 0) {
        field = this.literal(6);
        this.add(field);
      } else if ((byte & 0x20) !== 0) {
        if (fields.length > 0) throw new HpackError('the table changes its size within a block');
        this.resize(this.integer(5));
        continue;
      } else field = this.literal(4);
      size += field.name.length + field.value.length + FIELD_OVERHEAD;
      if (size <= limit) fields.push(field);
    }
    this.block = NOTHING;
    return size <= limit ? fields : undefined;
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
    throw new HpackError(`there is no field ${index}`);
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
    if (end > this.block.length) throw new HpackError('a string is longer than its block');
    this.at = end;
    if (huffman) return decodeHuffman(this.block, start, end);
    return this.block.toString('latin1', start, end);
  }

  /** An integer that begins in the low bits of the byte at hand (RFC 7541, section 5.1). */
  private integer(prefix: number): number {
    const mask = (1 << prefix) - 1;
    const first = this.block[this.at++];
    if (first === undefined) throw new HpackError('a block ends within a field');
    let value = first & mask;
    if (value < mask) return value;
    for (let shift = 0; ; shift += 7) {
      const byte = this.block[this.at++];
      if (byte === undefined) throw new HpackError('a block ends within an integer');
      value += (byte & 0x7f) * 2 ** shift;
      if (value > LARGEST_INTEGER || shift > 28) throw new HpackError('an integer is too large');
      if ((byte & 0x80) === 0) return value;
    }
  }

  private add(field: HeaderField): void {
    const size = field.name.length + field.value.length + FIELD_OVERHEAD;
    this.dropTo(this.most - size);
    // A field that does not fit empties the table.
    if (size > this.most) return;
    this.dynamic.push(field);
    this.bytes += size;
  }

  private resize(bytes: number): void {
    if (bytes > TABLE_BYTES) throw new HpackError('the table grows beyond what was agreed');
    this.most = bytes;
    this.dropTo(bytes);
  }

  private dropTo(bytes: number): void {
    while (this.bytes > bytes && this.oldest < this.dynamic.length) {
      const { name, value } = this.dynamic[this.oldest++] as HeaderField;
      this.bytes -= name.length + value.length + FIELD_OVERHEAD;
    }
    // Indices count from the end, so that those in front can go at any time.
    if (this.oldest > 128) {
      this.dynamic.splice(0, this.oldest);
      this.oldest = 0;
    }
  }
}
