/** Added to a byte that is not part of valid UTF-8. The sum is a low surrogate, which valid UTF-8 never decodes to by itself. */
const STRAY = 0xdc00;

/**
 * Decodes bytes. Go's strings may hold bytes that are not valid UTF-8, and Go's output shows which ones. Here, each such byte becomes one
 * lone surrogate, which `quote` and `wellFormed` know how to write.
 */
export function textOfBytes(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  if (!text.includes('\ufffd')) return text;
  // A character has at most as many UTF-16 units as it has bytes.
  const units = new Uint16Array(bytes.length);
  let count = 0;
  for (let i = 0; i < bytes.length;) {
    const length = sequenceLength(bytes, i);
    if (length === 0) units[count++] = STRAY + (bytes[i++] as number);
    else {
      const code = codePoint(bytes, i, length);
      if (code > 0xffff) {
        units[count++] = 0xd7c0 + (code >> 10);
        units[count++] = 0xdc00 + (code & 0x3ff);
      } else units[count++] = code;
      i += length;
    }
  }
  return Buffer.from(units.buffer, 0, 2 * count).toString('utf16le');
}

/** Returns the length in bytes of the character that begins at `at`, or 0 if none does. */
function sequenceLength(bytes: Buffer, at: number): number {
  const first = bytes[at] as number;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const second = bytes[at + 1] ?? 0;
  // The second byte excludes other forms of shorter characters, surrogates, and what is beyond Unicode.
  const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return 0;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  for (let i = 2; i < length; i++) if (((bytes[at + i] ?? 0) & 0xc0) !== 0x80) return 0;
  return length;
}

/** Decodes a valid character of one to four bytes. */
function codePoint(bytes: Buffer, at: number, length: number): number {
  const first = bytes[at] as number;
  if (length === 1) return first;
  let code = first & (0x7f >> length);
  for (let i = 1; i < length; i++) code = (code << 6) | ((bytes[at + i] as number) & 0x3f);
  return code;
}

/** Returns the byte that a character from `textOfBytes` represents, or undefined if it does not represent one. */
export const strayByte = (code: number): number | undefined =>
  code >= STRAY + 0x80 && code <= STRAY + 0xff ? code - STRAY : undefined;

const LONE = /\p{Surrogate}/gu;

/** Makes a string valid for JSON: lone surrogates become U+FFFD. */
export const wellFormed = (text: string): string => text.replace(LONE, '\ufffd');

/** Compares two strings by their UTF-8 bytes, which is the order of Go and of the stores. */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // Surrogates encode code points above the basic multilingual plane.
    const surrogateX = x >= 0xd800 && x <= 0xdfff;
    const surrogateY = y >= 0xd800 && y <= 0xdfff;
    if (surrogateX !== surrogateY) return surrogateX ? 1 : -1;
    return x - y;
  }
  return a.length - b.length;
}
