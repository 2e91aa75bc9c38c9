import { textOfBytes } from '../util/text/utf8.js';

/** Decodes %-escapes. Returns undefined if one is malformed. */
export function unescapePath(text: string): string | undefined {
  if (!text.includes('%')) return text;
  if (/%(?![0-9a-fA-F]{2})/.test(text)) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return decodeBytes(text);
  }
}

function decodeBytes(text: string): string {
  const bytes = Buffer.from(text);
  let length = 0;
  for (let i = 0; i < bytes.length; i++) {
    let byte = bytes[i] as number;
    if (byte === 0x25) {
      byte = hexDigit(bytes[i + 1] as number) * 16 + hexDigit(bytes[i + 2] as number);
      i += 2;
    }
    bytes[length++] = byte;
  }
  return textOfBytes(bytes.subarray(0, length));
}

/** The value of a digit: those above 9 are letters, whose low bits count from 1. */
const hexDigit = (code: number): number => (code & 0xf) + (code > 0x39 ? 9 : 0);
