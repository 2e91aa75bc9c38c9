const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const ALPHABETS = {
  standard: new Set(Buffer.from(`${LETTERS}+/`)),
  /** The alphabet that is safe in URLs and file names. */
  url: new Set(Buffer.from(`${LETTERS}-_`)),
};
const PADDING = 0x3d;

/** Returns the index at which Go's decoder rejects padded base64, or undefined if it accepts the input. Line breaks are skipped. */
export function illegalBase64At(bytes: Uint8Array, alphabet: keyof typeof ALPHABETS): number | undefined {
  const letters = ALPHABETS[alphabet];
  let count = 0;
  for (const [i, byte] of bytes.entries()) {
    if (isLineBreak(byte)) continue;
    if (letters.has(byte)) {
      count++;
      continue;
    }
    if (byte !== PADDING || count % 4 < 2) return i;
    return illegalPaddingAt(bytes, i, count % 4 === 2);
  }
  return count % 4 === 0 ? undefined : bytes.length - (count % 4);
}

/** Returns the index of invalid padding. After the first `=` at `at`, another one must follow if `more` is true, and then nothing. */
function illegalPaddingAt(bytes: Uint8Array, at: number, more: boolean): number | undefined {
  let missing = more;
  for (let i = at + 1; i < bytes.length; i++) {
    const byte = bytes[i];
    if (isLineBreak(byte)) continue;
    if (!missing) return i;
    if (byte !== PADDING) return i - 1;
    missing = false;
  }
  return missing ? bytes.length : undefined;
}

const isLineBreak = (byte: number | undefined): boolean => byte === 0x0a || byte === 0x0d;
