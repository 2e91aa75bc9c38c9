import { isAmbiguous } from './resolve.js';

/** Lines are folded at the first space beyond this column. */
const WIDTH = 80;

/** The place to write a text at. Folded lines continue at `indent`. */
export interface ScalarPlace {
  readonly column: number;
  readonly indent: number;
  /** True for keys, which must be on one line. */
  readonly key: boolean;
}

interface Analysis {
  plain: boolean;
  single: boolean;
  block: boolean;
}

const ALWAYS_AT_START = '#,[]{}&*!|>\'"%@`';

function isPrintable(code: number): boolean {
  if (code === 0x0a || (code >= 0x20 && code <= 0x7e)) return true;
  if (code < 0xa0 || code > 0xfffd) return false;
  return code !== 0xfeff && (code < 0xd800 || code > 0xdfff);
}

const isBreak = (code: number): boolean =>
  code === 0x0a || code === 0x0d || code === 0x85 || code === 0x2028 || code === 0x2029;

/** Reports whether an indicator at this position prevents the text from being written plain. */
function isIndicator(text: string, i: number): boolean {
  const char = text.charAt(i);
  const next = text.charAt(i + 1);
  const blankFollows = next === '' || next === ' ' || next === '\t';
  if (i === 0)
    return ALWAYS_AT_START.includes(char) || ((char === '-' || char === '?' || char === ':') && blankFollows);
  if (char === ':') return blankFollows;
  const before = text.charCodeAt(i - 1);
  return char === '#' && (before === 0x20 || before === 9 || before === 0 || isBreak(before));
}

/** Reports which styles can represent the text. */
function analyze(text: string): Analysis {
  if (text === '') return { plain: true, single: true, block: false };
  let indicators = text.startsWith('---') || text.startsWith('...');
  let special = false;
  let breaks = false;
  let breakThenSpace = false;
  let spaceThenBreak = false;
  let previous = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    indicators ||= isIndicator(text, i);
    special ||= !isPrintable(code);
    if (code === 0x20) breakThenSpace ||= isBreak(previous);
    else if (isBreak(code)) {
      breaks = true;
      spaceThenBreak ||= previous === 0x20;
    }
    previous = code;
  }
  const first = text.charCodeAt(0);
  const edge = first === 0x20 || isBreak(first) || previous === 0x20 || isBreak(previous);
  return {
    plain: !(indicators || edge || breaks || special || breakThenSpace || spaceThenBreak),
    single: !(breakThenSpace || spaceThenBreak || special),
    block: !(previous === 0x20 || spaceThenBreak || special),
  };
}

const ESCAPES = new Map<number, string>([
  [0, '0'],
  [7, 'a'],
  [8, 'b'],
  [9, 't'],
  [10, 'n'],
  [11, 'v'],
  [12, 'f'],
  [13, 'r'],
  [0x1b, 'e'],
  [0x22, '"'],
  [0x5c, '\\'],
  [0x85, 'N'],
  [0xa0, '_'],
  [0x2028, 'L'],
  [0x2029, 'P'],
]);

function escapeOf(code: number): string {
  const escape = ESCAPES.get(code);
  const hex = code.toString(16).toUpperCase();
  if (escape !== undefined) return `\\${escape}`;
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

function doubleQuoted(text: string, place: ScalarPlace): string {
  const written = (char: string): string => {
    const code = char.codePointAt(0) ?? 0;
    return isPrintable(code) && !isBreak(code) && code !== 0x22 && code !== 0x5c ? char : escapeOf(code);
  };
  return `"${folded(text, { ...place, column: place.column + 1 }, written, 'double')}"`;
}

/** Returns the text of a scalar in one of the flow styles, broken at a single space once the line is long enough. */
function folded(
  text: string,
  place: ScalarPlace,
  written: (char: string) => string,
  style: 'plain' | 'single' | 'double',
): string {
  const margin = `\n${' '.repeat(place.indent)}`;
  let { column } = place;
  let out = '';
  let spaces = false;
  let at = 0;
  for (const char of text) {
    const inside = style === 'plain' || (at > 0 && at < text.length - 1);
    const followed = text.charAt(at + 1) === ' ';
    at += char.length;
    if (char === ' ' && !place.key && !spaces && column > WIDTH && inside && (style === 'double' || !followed)) {
      out += style === 'double' && followed ? `${margin}\\` : margin;
      column = place.indent + (style === 'double' && followed ? 1 : 0);
    } else {
      const piece = written(char);
      out += piece;
      column += piece.length === char.length ? 1 : piece.length;
    }
    spaces = char === ' ';
  }
  return out;
}

function literal(text: string, indent: number): string {
  const hint = text.startsWith(' ') || isBreak(text.charCodeAt(0)) ? '2' : '';
  const ends = isBreak(text.charCodeAt(text.length - 1));
  const keeps = ends && (text.length === 1 || isBreak(text.charCodeAt(text.length - 2)));
  const chomp = ends ? (keeps ? '+' : '') : '-';
  const margin = ' '.repeat(indent);
  const lines = (ends ? text.slice(0, -1) : text).split('\n').map((line) => (line === '' ? '' : margin + line));
  return `|${hint}${chomp}\n${lines.join('\n')}${ends ? '\n' : ''}`;
}

/** Returns a text in the style that Go's emitter chooses. Multi-line styles are not possible in keys. */
export function scalarText(text: string, place: ScalarPlace): string {
  const may = analyze(text);
  if (text.includes('\n')) return may.block && !place.key ? literal(text, place.indent) : doubleQuoted(text, place);
  if (isAmbiguous(text)) return doubleQuoted(text, place);
  const long = place.column + text.length > WIDTH && text.includes(' ');
  if (may.plain) return long ? folded(text, place, (char) => char, 'plain') : text;
  if (!may.single) return doubleQuoted(text, place);
  if (!long) return `'${text.replaceAll("'", "''")}'`;
  const inner = { ...place, column: place.column + 1 };
  return `'${folded(text, inner, (char) => (char === "'" ? "''" : char), 'single')}'`;
}
