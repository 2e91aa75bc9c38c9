import { work } from '../work.js';

/** Length in code points; a lone surrogate counts as one. */
export function codePointLength(text: string): number {
  // Long texts are scanned natively first.
  if (text.length > 32 && !SURROGATE.test(text)) return text.length;
  // One half of every pair is at an odd place.
  let i = 1;
  while (i < text.length && (text.charCodeAt(i) & SURROGATE_BITS) !== SURROGATES) i += 2;
  return i < text.length ? countPoints(text) : text.length;
}

const SURROGATE_BITS = 0xf800;
const SURROGATES = 0xd800;

function countPoints(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff) {
      const next = text.charCodeAt(i + 1);
      if (next >= 0xdc00 && next <= 0xdfff) {
        length--;
        i++;
      }
    }
  }
  return length;
}

const SURROGATE = /[\ud800-\udbff]/;

/** Whether a text is of ASCII alone. */
export const isAscii = (text: string): boolean => ASCII.test(text);

const ASCII = /^\p{ASCII}*$/u;

/** Whether UTF-16 indices are code point indices. */
export const isFlat = (text: string): boolean => codePointLength(text) === text.length;

/** Order by code points: -1, 0 or 1. JavaScript's own order puts astral characters before U+E000. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    if (x >= 0xd800 && y >= 0xd800) {
      const rank = (unit: number): number => (unit <= 0xdfff ? unit + 0x10000 : unit);
      return rank(x) < rank(y) ? -1 : 1;
    }
    return x < y ? -1 : 1;
  }
  return a.length < b.length ? -1 : 1;
}

export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

/** Go's %q of a string. */
export function quoted(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  work(text.length * 2);
  let result = '"';
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (char === '"' || char === '\\') result += `\\${char}`;
    else if (code >= 7 && code <= 13) result += `\\${'abtnvfr'[code - 7] ?? ''}`;
    else if (code < 0x20 || code === 0x7f) result += `\\x${code.toString(16).padStart(2, '0')}`;
    else if (PRINTABLE.test(char)) result += char;
    else if (code > 0xffff) result += `\\U${code.toString(16).padStart(8, '0')}`;
    else result += `\\u${code.toString(16).padStart(4, '0')}`;
  }
  return `${result}"`;
}

const PLAIN = /^[ !#-[\]-~]*$/;
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;
