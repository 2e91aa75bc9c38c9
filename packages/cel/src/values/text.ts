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

/**
 * Looking for a part of a text in time linear in both, whatever they are: the native search may compare every unit of the
 * part at every place of the text. It is used where that product is small.
 */
const SMALL = 1 << 22;
const SHORT = 16;

/** The units of a text; reading them from an array is faster than asking the text for each. */
function unitsOf(text: string): Uint16Array {
  const units = new Uint16Array(text.length);
  Buffer.from(units.buffer).write(text, 'utf16le');
  return units;
}

/** For each prefix of the part, how long its longest proper border is. */
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

/** Calls `found` with the end of every place, overlapping ones too, until it returns true. */
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

/** The first place of a part from an offset on; -1 if there is none. */
export function find(text: string, part: string, from: number): number {
  if (isSmall(text, part)) return text.indexOf(part, from);
  let at = -1;
  scan(text, part, from, text.length, (end) => {
    at = end - part.length;
    return true;
  });
  return at;
}

/** The last place of a part that begins at an offset or before it; -1 if there is none. */
export function findLast(text: string, part: string, from: number): number {
  if (isSmall(text, part)) return text.lastIndexOf(part, from);
  let at = -1;
  scan(text, part, 0, Math.min(text.length, from + part.length), (end) => {
    at = end - part.length;
    return false;
  });
  return at;
}

/** The parts of a text between the places of a separator that is not empty. */
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

/** Texts from this length on are put together from units, which takes a third of the time that joining pieces takes. */
const LONG = 1 << 16;

/** Calls `found` with every place of a part, from the first one on, none of which overlaps another. */
function places(units: Uint16Array, text: string, part: string, found: (at: number) => void): void {
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

/** How often a part that is not empty stands in a text, places that overlap counted once. */
export interface Occurrences {
  readonly count: number;
  /** The text with something else in their stead. */
  replaced(replacement: string): string;
}

export function occurrences(text: string, part: string): Occurrences {
  if (text.length < LONG) {
    const pieces = split(text, part);
    return { count: pieces.length - 1, replaced: (replacement) => pieces.join(replacement) };
  }
  const units = unitsOf(text);
  let count = 0;
  places(units, text, part, () => count++);
  return {
    count,
    replaced(replacement) {
      const put = unitsOf(replacement);
      const result = new Uint16Array(text.length + count * (put.length - part.length));
      let to = 0;
      let from = 0;
      places(units, text, part, (at) => {
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
  // Texts of one byte a character are faster to work on.
  return bits < 256 ? Buffer.from(units).toString('latin1') : Buffer.from(units.buffer).toString('utf16le');
}
