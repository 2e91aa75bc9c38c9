const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const ALPHABETS = {
  standard: new Set(Buffer.from(`${LETTERS}+/`)),
  /** For URLs and names of files. */
  url: new Set(Buffer.from(`${LETTERS}-_`)),
};
const PADDING = 0x3d;

/** Where Go's decoder finds the text not to be base64 with padding; undefined where it is. Line breaks are skipped. */
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

/** After a first `=` at `at` another one must follow, if `more`, and then nothing. */
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
