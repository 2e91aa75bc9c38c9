import { chargeWork } from '../work.js';

/** The length in code points. A lone surrogate counts as one. */
export function codePointLength(text: string): number {
  // The native search is faster for long strings.
  if (text.length > 32 && !SURROGATE.test(text)) return text.length;
  // Every surrogate pair has one half at an odd index, so it is enough to check every other unit.
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

/** Reports whether a string consists only of ASCII characters. */
export const isAscii = (text: string): boolean => ASCII.test(text);

const ASCII = /^\p{ASCII}*$/u;

/** Reports whether UTF-16 indices equal code point indices. */
export const isBmpOnly = (text: string): boolean => codePointLength(text) === text.length;

/** Compares by code points: -1, 0 or 1. JavaScript's own order puts astral characters before U+E000. */
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

/** Quotes a string like Go's %q. */
export function quoted(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  chargeWork(text.length * 2);
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

/**
 * The product of the lengths of a string and a substring up to which the native search is used. The native search may compare every unit of
 * the substring at every position; the search here is linear in both lengths for any input.
 */
const SMALL = 1 << 22;
const SHORT = 16;

/** The UTF-16 units of a string. Reading them from an array is faster than calling charCodeAt for each. */
function unitsOf(text: string): Uint16Array {
  const units = new Uint16Array(text.length);
  Buffer.from(units.buffer).write(text, 'utf16le');
  return units;
}

/** For each prefix of the substring, the length of its longest proper border (the table of the Knuth-Morris-Pratt algorithm). */
function borders(part: Uint16Array): Int32Array {
  const table = new Int32Array(part.length);
  let length = 0;
  for (let i = 1; i < part.length; i++) {
    const unit = part[i];
    while (length > 0 && unit !== part[length]) length = table[length - 1] as number;
    if (unit === part[length]) length++;
    table[i] = length;
  }
  return table;
}

/** Calls `found` with the end of every occurrence, including overlapping ones, until it returns true. */
function scan(text: string, part: string, from: number, to: number, found: (end: number) => boolean): void {
  const wanted = unitsOf(part);
  const units = unitsOf(text);
  const table = borders(wanted);
  let length = 0;
  for (let i = from; i < to; i++) {
    const unit = units[i];
    while (length > 0 && unit !== wanted[length]) length = table[length - 1] as number;
    if (unit === wanted[length]) length++;
    if (length < wanted.length) continue;
    if (found(i + 1)) return;
    length = table[length - 1] as number;
  }
}

const isSmall = (text: string, part: string): boolean =>
  part.length <= SHORT || (text.length - part.length + 1) * part.length <= SMALL;

/** Returns the index of the first occurrence at or after `from`, or -1. */
export function find(text: string, part: string, from: number): number {
  if (isSmall(text, part)) return text.indexOf(part, from);
  let at = -1;
  scan(text, part, from, text.length, (end) => {
    at = end - part.length;
    return true;
  });
  return at;
}

/** Returns the index of the last occurrence that begins at or before `from`, or -1. */
export function findLast(text: string, part: string, from: number): number {
  if (isSmall(text, part)) return text.lastIndexOf(part, from);
  let at = -1;
  scan(text, part, 0, Math.min(text.length, from + part.length), (end) => {
    at = end - part.length;
    return false;
  });
  return at;
}

/** Splits a string at a non-empty separator. */
export function split(text: string, separator: string): string[] {
  if (isSmall(text, separator)) return text.split(separator);
  const parts: string[] = [];
  let start = 0;
  scan(text, separator, 0, text.length, (end) => {
    if (end - separator.length >= start) {
      parts.push(text.slice(start, end - separator.length));
      start = end;
    }
    return false;
  });
  parts.push(text.slice(start));
  return parts;
}

/** Replacements in strings of at least this length are built from UTF-16 units, which takes a third of the time of joining pieces. */
const LONG = 1 << 16;

/** Calls `found` with the index of every occurrence, from left to right, skipping overlapping ones. */
function forEachOccurrence(units: Uint16Array, text: string, part: string, found: (at: number) => void): void {
  if (part.length === 1) {
    const wanted = part.charCodeAt(0);
    for (let i = 0; i < units.length; i++) if (units[i] === wanted) found(i);
    return;
  }
  let next = 0;
  scan(text, part, 0, text.length, (end) => {
    const at = end - part.length;
    if (at >= next) {
      found(at);
      next = end;
    }
    return false;
  });
}

/** The non-overlapping occurrences of a non-empty substring. */
export interface Occurrences {
  readonly count: number;
  /** Returns the string with every occurrence replaced. */
  replaced(replacement: string): string;
}

export function occurrences(text: string, part: string): Occurrences {
  if (text.length < LONG) {
    const pieces = split(text, part);
    return { count: pieces.length - 1, replaced: (replacement) => pieces.join(replacement) };
  }
  const units = unitsOf(text);
  let count = 0;
  forEachOccurrence(units, text, part, () => count++);
  return {
    count,
    replaced(replacement) {
      const put = unitsOf(replacement);
      const result = new Uint16Array(text.length + count * (put.length - part.length));
      let to = 0;
      let from = 0;
      forEachOccurrence(units, text, part, (at) => {
        while (from < at) result[to++] = units[from++] as number;
        for (let i = 0; i < put.length; i++) result[to++] = put[i] as number;
        from = at + part.length;
      });
      while (from < units.length) result[to++] = units[from++] as number;
      return textOf(result);
    },
  };
}

function textOf(units: Uint16Array): string {
  let bits = 0;
  for (let i = 0; i < units.length; i++) bits |= units[i] as number;
  // Strings with one byte per character are faster to process.
  return bits < 256 ? Buffer.from(units).toString('latin1') : Buffer.from(units.buffer).toString('utf16le');
}
