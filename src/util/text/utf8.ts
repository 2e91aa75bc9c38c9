/** Stands for byte b of a text that is no UTF-8: a low half of a surrogate pair, which no text in UTF-8 has by itself. */
const STRAY = 0xdc00;

/**
 * Bytes as a text. Go's strings may hold bytes that are no UTF-8, and what is printed of them tells which; each is one
 * character here, alone, which `quote` and `wellFormed` know how to write.
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

/** Bytes of the character that begins at `at`; 0 where none does. */
function sequenceLength(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  const text = bytes.toString('utf8', at, at + length);
  const one = length === 4 ? (text.codePointAt(0) ?? 0) > 0xffff : text.length === 1;
  return one && (text !== '\ufffd' || bytes[at + 1] === 0xbf) ? length : 0;
}

/** The byte that a character of `textOfBytes` stands for. */
export const strayByte = (code: number): number | undefined =>
  code >= STRAY + 0x80 && code <= STRAY + 0xff ? code - STRAY : undefined;

const LONE = /\p{Surrogate}/gu;

/** The text as JSON can hold it: code units that are not characters become U+FFFD. */
export const wellFormed = (text: string): string => text.replace(LONE, '\ufffd');
