import { STATIC_TABLE } from './static-table.js';

/** The maximum number of cached header names. There are few in practice; the limit guards against handlers that make up names. */
const MOST_NAMES = 256;
const NAMES = new Map<string, Uint8Array>();
const NAME_INDICES = new Map<string, number>();
STATIC_TABLE.forEach(([name], i) => {
  if (!NAME_INDICES.has(name)) NAME_INDICES.set(name, i + 1);
});
const STATUS_INDICES = new Map(
  STATIC_TABLE.flatMap(([name, value], i): [number, number][] => (name === ':status' ? [[Number(value), i + 1]] : [])),
);

/** Characters that a field value cannot contain. They are replaced by spaces. */
const BREAKS = /[\0\r\n]/g;
const isBreak = (code: number): boolean => code === 0 || code === 0x0d || code === 0x0a;

/** The `dynamic table size update` to 0, sent once: it tells the decoder that the dynamic table stays empty. */
export const EMPTY_TABLE = 0x20;

/** Writes an integer after the high bits of `first`. Returns where it ends. */
function writeInteger(out: Uint8Array, at: number, first: number, prefix: number, value: number): number {
  const mask = (1 << prefix) - 1;
  if (value < mask) {
    out[at] = first | value;
    return at + 1;
  }
  out[at++] = first | mask;
  let rest = value - mask;
  for (; rest >= 128; rest >>>= 7) out[at++] = (rest & 0x7f) | 0x80;
  out[at] = rest;
  return at + 1;
}

function writeText(out: Buffer, at: number, text: string): number {
  const { length } = text;
  at = writeInteger(out, at, 0, 7, length);
  // For short strings, calling into native code costs more than copying the characters here.
  if (length > 48) {
    out.write(text.replace(BREAKS, ' '), at, 'latin1');
    return at + length;
  }
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    out[at++] = isBreak(code) ? 0x20 : code;
  }
  return at;
}

function encodedName(name: string): Uint8Array {
  const known = NAMES.get(name);
  if (known !== undefined) return known;
  const out = Buffer.alloc(name.length + 8);
  const index = NAME_INDICES.get(name);
  // A literal field without indexing.
  let end: number;
  if (index !== undefined) end = writeInteger(out, 0, 0, 4, index);
  else {
    out[0] = 0;
    end = writeText(out, 1, name);
  }
  const encoded = out.subarray(0, end);
  if (NAMES.size < MOST_NAMES) NAMES.set(name, encoded);
  return encoded;
}

/**
 * Writes a header field as a literal without indexing: repeated response fields are short, and a connection needs no encoder state.
 * The caller provides the room: `maxFieldBytes` for each field, and `statusRoom`.
 */
export function writeField(out: Buffer, at: number, name: string, value: string): number {
  const encoded = encodedName(name);
  for (let i = 0; i < encoded.length; i++) out[at++] = encoded[i] as number;
  return writeText(out, at, value);
}

export const maxFieldBytes = (name: string, value: string): number => name.length + value.length + 16;

export const statusRoom = 16;

export function writeStatus(out: Buffer, at: number, status: number): number {
  const index = STATUS_INDICES.get(status);
  if (index === undefined) return writeField(out, at, ':status', String(status));
  out[at] = 0x80 | index;
  return at + 1;
}
