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
  const source = Buffer.from(text);
  const bytes: number[] = [];
  for (let i = 0; i < source.length; i++) {
    const byte = source[i] ?? 0;
    if (byte === 0x25) {
      bytes.push(Number.parseInt(source.toString('latin1', i + 1, i + 3), 16));
      i += 2;
    } else bytes.push(byte);
  }
  return textOfBytes(Buffer.from(bytes));
}
