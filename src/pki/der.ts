/** The ASN.1 types in certificates, for their DER encoding. */
export const Tag = {
  BOOLEAN: 0x01,
  INTEGER: 0x02,
  BIT_STRING: 0x03,
  OCTET_STRING: 0x04,
  OID: 0x06,
  UTF8_STRING: 0x0c,
  PRINTABLE_STRING: 0x13,
  T61_STRING: 0x14,
  IA5_STRING: 0x16,
  UTC_TIME: 0x17,
  GENERALIZED_TIME: 0x18,
  BMP_STRING: 0x1e,
  SEQUENCE: 0x30,
  SET: 0x31,
} as const;

/** Returns the tag of a context-specific element that contains another element. */
export const explicitTag = (number: number): number => 0xa0 | number;
/** Returns the tag of a context-specific element that replaces a primitive one. */
export const implicitTag = (number: number): number => 0x80 | number;

export class DerError extends Error {
  override readonly name = 'DerError';
}

/** One DER element. */
export class DerNode {
  constructor(
    readonly tag: number,
    readonly content: Buffer,
    /** The encoded element, including tag and length. */
    readonly raw: Buffer,
  ) {}

  /** Returns the elements inside a constructed element. */
  children(): DerNode[] {
    const out: DerNode[] = [];
    let at = 0;
    while (at < this.content.length) {
      const node = readDer(this.content, at);
      out.push(node);
      at += node.raw.length;
    }
    return out;
  }

  /** Throws unless the element has this tag. */
  expect(tag: number): this {
    if (this.tag !== tag) throw new DerError(`expected tag ${tag}, found ${this.tag}`);
    return this;
  }
}

/** Reads one element. Throws DerError unless its length is definite, minimal, and within the input. */
export function readDer(bytes: Buffer, offset = 0): DerNode {
  const tag = bytes[offset];
  const first = bytes[offset + 1];
  if (tag === undefined || first === undefined || (tag & 0x1f) === 0x1f)
    throw new DerError('truncated or unsupported tag');
  let start = offset + 2;
  let length = first;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 4 || start + count > bytes.length) throw new DerError('invalid length');
    length = bytes.readUIntBE(start, count);
    start += count;
    if (length < 0x80 || (count > 1 && length < 2 ** (8 * (count - 1)))) throw new DerError('length is not minimal');
  }
  const end = start + length;
  if (end > bytes.length) throw new DerError('element exceeds its container');
  return new DerNode(tag, bytes.subarray(start, end), bytes.subarray(offset, end));
}

/** Returns the dotted form of an OBJECT IDENTIFIER's content. */
export function oidText(content: Buffer): string {
  const arcs: number[] = [];
  let value = 0;
  for (const byte of content) {
    if (value > 2 ** 45) throw new DerError('object identifier too large');
    value = value * 128 + (byte & 0x7f);
    if (byte >= 0x80) continue;
    if (arcs.length === 0) {
      const head = Math.min(Math.floor(value / 40), 2);
      arcs.push(head, value - head * 40);
    } else arcs.push(value);
    value = 0;
  }
  return arcs.join('.');
}

/** Returns the text of a character string element. Throws DerError for other types and for malformed text. */
export function stringText(node: DerNode): string {
  const { tag, content } = node;
  switch (tag) {
    case Tag.UTF8_STRING: {
      const text = content.toString('utf8');
      if (!Buffer.from(text, 'utf8').equals(content)) throw new DerError('invalid UTF-8 in a string');
      return text;
    }
    case Tag.PRINTABLE_STRING:
    case Tag.IA5_STRING:
      if (content.some((byte) => byte >= 0x80)) throw new DerError('non-ASCII character in a string');
      return content.toString('latin1');
    case Tag.T61_STRING:
      return content.toString('latin1');
    case Tag.BMP_STRING:
      if (content.length % 2 !== 0) throw new DerError('BMP string with an odd length');
      return Buffer.from(content).swap16().toString('utf16le');
    default:
      throw new DerError(`tag ${tag} is not a character string type`);
  }
}

/** Returns an element with this tag that contains the parts. */
export function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const size = length < 0x100 ? 1 : length < 0x10000 ? 2 : 3;
  const head = Buffer.alloc(2 + size);
  head[0] = tag;
  head[1] = 0x80 | size;
  head.writeUIntBE(length, 2, size);
  return Buffer.concat([head, content]);
}

export const sequence = (...parts: readonly Buffer[]): Buffer => der(Tag.SEQUENCE, ...parts);
export const octets = (content: Buffer): Buffer => der(Tag.OCTET_STRING, content);
export const utf8 = (text: string): Buffer => der(Tag.UTF8_STRING, Buffer.from(text, 'utf8'));
export const TRUE = der(Tag.BOOLEAN, Buffer.from([0xff]));

/** Returns a BIT STRING, whose last `unused` bits are not part of it. */
export const bits = (content: Buffer, unused = 0): Buffer => der(Tag.BIT_STRING, Buffer.from([unused]), content);

/** Returns a non-negative INTEGER from its bytes, most significant first. */
export function integer(magnitude: Buffer): Buffer {
  let at = 0;
  while (at < magnitude.length - 1 && magnitude[at] === 0) at++;
  const trimmed = magnitude.subarray(at);
  return (trimmed[0] ?? 0) >= 0x80 ? der(Tag.INTEGER, Buffer.from([0]), trimmed) : der(Tag.INTEGER, trimmed);
}

export function oid(text: string): Buffer {
  const arcs = text.split('.').map(Number);
  const values = [(arcs[0] ?? 0) * 40 + (arcs[1] ?? 0), ...arcs.slice(2)];
  const bytes = values.flatMap((value) => {
    const out = [value % 128];
    for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) out.unshift(128 + (rest % 128));
    return out;
  });
  return der(Tag.OID, Buffer.from(bytes));
}

/** Returns a UTCTime until 2049 and a GeneralizedTime after that, in whole seconds. */
export function time(millis: number): Buffer {
  const digits = new Date(millis).toISOString().replace(/[-:T]/g, '').slice(0, 14);
  return Number(digits.slice(0, 4)) < 2050
    ? der(Tag.UTC_TIME, Buffer.from(`${digits.slice(2)}Z`))
    : der(Tag.GENERALIZED_TIME, Buffer.from(`${digits}Z`));
}

/** Returns PEM with lines of 64 characters. */
export function pem(label: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/** Returns the contents of all PEM blocks with this label. */
export function pemBlocks(text: string, label: string): Buffer[] {
  const pattern = new RegExp(`-----BEGIN ${label}-----([^-]*)-----END ${label}-----`, 'g');
  return [...text.matchAll(pattern)].map((match) => Buffer.from(match[1] ?? '', 'base64'));
}
