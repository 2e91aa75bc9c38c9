import { asBuffer } from '../../util/bytes.js';
import { JsonError } from '../json/syntax.js';

/** Characters that YAML text must not contain. A replacement character may stand for bytes that are not UTF-8. */
const SUSPICIOUS = /[^\t\n\r\x20-\x7e\x85\xa0-\ufffc]/;

const refuse = (problem: string): never => {
  throw new JsonError(`yaml: ${problem}`);
};

/** Returns the number of bytes of a character that begins with the byte; 0 if none does. */
function widthOf(octet: number): number {
  if ((octet & 0x80) === 0) return 1;
  if ((octet & 0xe0) === 0xc0) return 2;
  if ((octet & 0xf0) === 0xe0) return 3;
  return (octet & 0xf8) === 0xf0 ? 4 : 0;
}

const SMALLEST = [0, 0, 0x80, 0x800, 0x10000];

function checkCharacter(value: number): void {
  if ((value >= 0xd800 && value <= 0xdfff) || value > 0x10ffff) refuse('invalid Unicode character');
  const allowed =
    value === 0x09 ||
    value === 0x0a ||
    value === 0x0d ||
    (value >= 0x20 && value <= 0x7e) ||
    value === 0x85 ||
    (value >= 0xa0 && value <= 0xfffd) ||
    value >= 0x10000;
  if (!allowed) refuse('control characters are not allowed');
}

/** Checks the bytes as Go's reader does, up to the first that it rejects. */
function checkUtf8(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) {
    const octet = bytes[at] ?? 0;
    const width = widthOf(octet);
    if (width === 0) refuse('invalid leading UTF-8 octet');
    if (at + width > bytes.length) refuse('incomplete UTF-8 octet sequence');
    let value = width === 1 ? octet : octet & (0x7f >> width);
    for (let k = 1; k < width; k++) {
      const next = bytes[at + k] ?? 0;
      if ((next & 0xc0) !== 0x80) refuse('invalid trailing UTF-8 octet');
      value = value * 64 + (next & 0x3f);
    }
    if (value < (SMALLEST[width] ?? 0)) refuse('invalid length of a UTF-8 sequence');
    checkCharacter(value);
    at += width;
  }
}

/** Decodes a file that begins with the byte order mark of UTF-16. */
function utf16(bytes: Buffer, order: 'little-endian' | 'big-endian'): string {
  if (bytes.length % 2 !== 0) refuse('incomplete UTF-16 character');
  const units = order === 'big-endian' ? Buffer.from(bytes).swap16() : bytes;
  const text = units.toString('utf16le');
  for (const character of text) {
    const value = character.codePointAt(0) ?? 0;
    if (value >= 0xdc00 && value <= 0xdfff) refuse('unexpected low surrogate area');
    if (value >= 0xd800 && value <= 0xdbff)
      refuse(text.endsWith(character) ? 'incomplete UTF-16 surrogate pair' : 'expected low surrogate area');
    checkCharacter(value);
  }
  return text;
}

/** Decodes the bytes of YAML. Throws JsonError if Go's reader would reject them. */
export function readYamlText(input: Uint8Array | string): string {
  if (typeof input === 'string') {
    if (SUSPICIOUS.test(input)) checkUtf8(Buffer.from(input));
    return input;
  }
  const bytes = asBuffer(input);
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return utf16(bytes.subarray(2), 'little-endian');
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return utf16(bytes.subarray(2), 'big-endian');
  const text = bytes.toString('utf8');
  if (SUSPICIOUS.test(text))
    checkUtf8(bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes);
  return text;
}
