import type { Attributes, CachedType } from '../interfaces.js';
import { attributesOfText, type ItemFacts, type ItemSource, type PackedAttributes } from './cached-item.js';

/**
 * Rows in one buffer outside the heap, which the garbage collector does not walk: first the end of each row (32 bits), then the rows:
 *
 *     0  revision (64-bit float)
 *     8  length of the object's bytes (32 bits)
 *    12  length of the key (16 bits)
 *    14  flags
 *    15  the key, then the selector attributes as JSON, or nothing if they have not been computed yet
 */
const LENGTH = 8;
const KEY_LENGTH = 12;
const FLAGS = 14;
const KEY = 15;
const END = 4;

/** A row of a table. */
export class PackedRow {
  constructor(
    readonly table: PackedTable,
    readonly row: number,
  ) {}
}

/** An item that is not in a table yet, with its selector attributes. */
export interface UnpackedRow extends ItemFacts {
  attributesText(): string;
}

export class PackedTable implements PackedAttributes {
  /** The description of the type when the rows were made. */
  private readonly describedBy: CachedType;

  private constructor(
    readonly rows: number,
    private readonly bytes: Buffer,
    private readonly source: ItemSource,
  ) {
    this.describedBy = source.type();
  }

  static of(rows: readonly (PackedRow | UnpackedRow)[], source: ItemSource): PackedTable {
    const texts = rows.map((row) => (row instanceof PackedRow ? '' : row.attributesText()));
    const lengths = rows.map((row, i) =>
      row instanceof PackedRow
        ? row.table.lengthNow(row.row)
        : KEY + Buffer.byteLength(row.key) + Buffer.byteLength(texts[i] ?? ''),
    );
    let at = END * rows.length;
    const bytes = Buffer.allocUnsafeSlow(lengths.reduce((sum, length) => sum + length, at));
    rows.forEach((row, i) => {
      const length = lengths[i] ?? 0;
      if (row instanceof PackedRow) row.table.copy(row.row, length, bytes, at);
      else write(row, texts[i] ?? '', bytes, at);
      at += length;
      bytes.writeUInt32LE(at, END * i);
    });
    return new PackedTable(rows.length, bytes, source);
  }

  /** True if the description of the type has not changed since the rows were made. */
  get isCurrent(): boolean {
    return this.describedBy === this.source.type();
  }

  keyAt(row: number): string {
    const start = this.start(row);
    return this.bytes.toString('utf8', start + KEY, this.keyEnd(start));
  }

  /** Compares the key of a row with another key. */
  compareKey(row: number, key: Uint8Array): number {
    const start = this.start(row);
    return this.bytes.compare(key, 0, key.length, start + KEY, this.keyEnd(start));
  }

  facts(row: number): ItemFacts {
    const start = this.start(row);
    return {
      key: this.bytes.toString('utf8', start + KEY, this.keyEnd(start)),
      revision: this.bytes.readDoubleLE(start),
      length: this.bytes.readUInt32LE(start + LENGTH),
      flags: this.bytes[start + FLAGS] ?? 0,
    };
  }

  stateAt(row: number): Pick<ItemFacts, 'revision' | 'flags'> {
    const start = this.start(row);
    return { revision: this.bytes.readDoubleLE(start), flags: this.bytes[start + FLAGS] ?? 0 };
  }

  lengthAt(row: number): number {
    return this.bytes.readUInt32LE(this.start(row) + LENGTH);
  }

  attributesAt(row: number, key: string): Attributes | undefined {
    const text = this.attributesTextAt(row);
    return text === '' ? undefined : attributesOfText(key, text);
  }

  /** Returns '' if the description of the type has changed since. */
  attributesTextAt(row: number): string {
    const start = this.start(row);
    return this.bytes.toString('utf8', this.keyEnd(start), start + this.lengthNow(row));
  }

  hasAttributes(row: number): boolean {
    const start = this.start(row);
    return this.keyEnd(start) < start + this.lengthNow(row);
  }

  /** Returns the length of a row, without its attributes if the description of the type has changed since. */
  private lengthNow(row: number): number {
    const start = this.start(row);
    return (this.isCurrent ? this.bytes.readUInt32LE(END * row) : this.keyEnd(start)) - start;
  }

  private copy(row: number, length: number, target: Buffer, at: number): void {
    const start = this.start(row);
    this.bytes.copy(target, at, start, start + length);
  }

  private start(row: number): number {
    return row === 0 ? END * this.rows : this.bytes.readUInt32LE(END * (row - 1));
  }

  private keyEnd(start: number): number {
    return start + KEY + this.bytes.readUInt16LE(start + KEY_LENGTH);
  }
}

function write(row: UnpackedRow, text: string, target: Buffer, at: number): void {
  target.writeDoubleLE(row.revision, at);
  target.writeUInt32LE(row.length, at + LENGTH);
  target[at + FLAGS] = row.flags;
  const keyLength = target.write(row.key, at + KEY);
  target.writeUInt16LE(keyLength, at + KEY_LENGTH);
  target.write(text, at + KEY + keyLength);
}
