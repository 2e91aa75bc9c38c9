/** Added to a byte that is not part of valid UTF-8. The sum is a low surrogate, which valid UTF-8 never decodes to by itself. */
const STRAY = 0xdc00;

/**
 * Decodes bytes. Go's strings may hold bytes that are not valid UTF-8, and Go's output shows which ones. Here, each such byte becomes one
 * lone surrogate, which `quote` and `wellFormed` know how to write.
 */
export function textOfBytes(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  if (!text.includes('\ufffd')) return text;
  let out = '';
  for (let i = 0; i < bytes.length;) {
    const length = sequenceLength(bytes, i);
    if (length === 0) out += String.fromCharCode(STRAY + (bytes[i++] ?? 0));
    else {
      out += bytes.toString('utf8', i, i + length);
      i += length;
    }
  }
  return out;
}

/** Returns the length in bytes of the character that begins at `at`, or 0 if none does. */
function sequenceLength(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  const text = bytes.toString('utf8', at, at + length);
  const one = length === 4 ? (text.codePointAt(0) ?? 0) > 0xffff : text.length === 1;
  return one && (text !== '\ufffd' || bytes[at + 1] === 0xbf) ? length : 0;
}

/** Returns the byte that a character from `textOfBytes` represents, or undefined if it does not represent one. */
export const strayByte = (code: number): number | undefined =>
  code >= STRAY + 0x80 && code <= STRAY + 0xff ? code - STRAY : undefined;

const LONE = /\p{Surrogate}/gu;

/** Makes a string valid for JSON: lone surrogates become U+FFFD. */
export const wellFormed = (text: string): string => text.replace(LONE, '\ufffd');
