import { strayByte } from '../util/text/utf8.js';

/** Go's `%q` of a string, for messages: like JSON, but non-printable characters as Go escapes them. */
export function quote(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  let out = '"';
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x20 && unit < 0x7f && unit !== 0x22 && unit !== 0x5c) continue;
    if (i > start) out += text.slice(start, i);
    const code = unit < 0xd800 ? unit : (text.codePointAt(i) ?? 0);
    out += escapes[unit < 0x80 ? unit : (strayByte(unit) ?? -1)] ?? quotedCharacter(code);
    if (code > 0xffff) i++;
    start = i + 1;
  }
  return `${out}${text.slice(start)}"`;
}

/** Returns a character beyond ASCII as it is if it can be printed, else escaped. */
function quotedCharacter(code: number): string {
  const char = String.fromCodePoint(code);
  if (/[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(char)) return char;
  return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`;
}

const NAMED: Readonly<Record<number, string>> = {
  7: '\\a',
  8: '\\b',
  9: '\\t',
  10: '\\n',
  11: '\\v',
  12: '\\f',
  13: '\\r',
  0x22: '\\"',
  0x5c: '\\\\',
};
/** The escapes of ASCII characters and of bytes that are not UTF-8, by byte. */
const escapes: readonly (string | undefined)[] = Array.from({ length: 0x100 }, (_, byte) =>
  byte >= 0x20 && byte < 0x7f ? NAMED[byte] : (NAMED[byte] ?? `\\x${byte.toString(16).padStart(2, '0')}`),
);

/** Text that is quoted as it is. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** Go's `%q` of a list of strings: `["a" "b"]`. */
export const quoteList = (texts: readonly string[]): string => `[${texts.map(quote).join(' ')}]`;
