import { getOwn } from '../../util/get-own.js';
import { Buffer } from 'node:buffer';
import type { Mark, YamlCursor } from './cursor.js';

/** Reads the name of an anchor or alias after its indicator. */
export function scanAnchor(cursor: YamlCursor): string {
  const start = cursor.mark();
  cursor.skip();
  const name = cursor.readWord();
  if (name === '' || !(cursor.isBlankOrEnd() || '?:,]}%@`'.includes(String.fromCharCode(cursor.at())))) {
    cursor.fail('did not find expected alphabetic or numeric character', start);
  }
  return name;
}

export interface Tag {
  readonly handle: string;
  readonly suffix: string;
}

/** Reads a tag: `!<uri>`, `!suffix`, `!handle!suffix`, or `!`. */
export function scanTag(cursor: YamlCursor): Tag {
  const start = cursor.mark();
  let tag: Tag;
  if (cursor.is('<', 1)) {
    cursor.skip(2);
    tag = { handle: '', suffix: scanUri(cursor, '', start) };
    if (!cursor.is('>')) cursor.fail("did not find the expected '>'", start);
    cursor.skip();
  } else {
    const handle = scanHandle(cursor, start);
    if (handle.length > 1 && handle.endsWith('!')) tag = { handle, suffix: scanUri(cursor, '', start) };
    else {
      const suffix = scanUri(cursor, handle, start);
      tag = suffix === '' ? { handle: '', suffix: '!' } : { handle: '!', suffix };
    }
  }
  if (!cursor.isBlankOrEnd()) cursor.fail('did not find expected whitespace or line break', start);
  return tag;
}

/** Reads a tag's handle, or its beginning: `!word` is a handle only if another exclamation mark follows. */
function scanHandle(cursor: YamlCursor, start: Mark): string {
  if (!cursor.is('!')) cursor.fail("did not find expected '!'", start);
  const handle = cursor.read() + cursor.readWord();
  return cursor.is('!') ? handle + cursor.read() : handle;
}

const URI = ";/?:@&=+$,.!~*'()[]%";

/** Reads a URI. `head` is the part that has already been read, with an exclamation mark in front. */
function scanUri(cursor: YamlCursor, head: string, start: Mark): string {
  const octets: Buffer[] = [Buffer.from(head.slice(1))];
  let found = head !== '';
  while (cursor.isWord() || (!cursor.isEnd() && URI.includes(String.fromCharCode(cursor.at())))) {
    octets.push(cursor.is('%') ? scanEscapedCharacter(cursor, start) : Buffer.from(cursor.read()));
    found = true;
  }
  if (!found) cursor.fail('did not find expected tag URI', start);
  return Buffer.concat(octets).toString();
}

function scanEscapedCharacter(cursor: YamlCursor, start: Mark): Buffer {
  const octets: number[] = [];
  let left = 1;
  while (left > 0) {
    const octet = cursor.is('%') ? hexValue(cursor, 1, 2) : undefined;
    if (octet === undefined) return cursor.fail('did not find URI escaped octet', start);
    if (octets.length === 0) {
      left = (octet & 0x80) === 0 ? 1 : (octet & 0xe0) === 0xc0 ? 2 : (octet & 0xf0) === 0xe0 ? 3 : 4;
      if ((octet & 0x80) !== 0 && (octet & 0xc0) !== 0xc0) cursor.fail('found an incorrect leading UTF-8 octet', start);
      if ((octet & 0xf8) === 0xf8) cursor.fail('found an incorrect leading UTF-8 octet', start);
    } else if ((octet & 0xc0) !== 0x80) cursor.fail('found an incorrect trailing UTF-8 octet', start);
    octets.push(octet);
    cursor.skip(3);
    left--;
  }
  return Buffer.from(octets);
}

/** Returns the number that `length` hexadecimal digits represent; undefined if there are other characters. */
function hexValue(cursor: YamlCursor, from: number, length: number): number | undefined {
  let value = 0;
  for (let i = from; i < from + length; i++) {
    const digit = parseInt(String.fromCharCode(cursor.at(i)), 16);
    if (Number.isNaN(digit)) return undefined;
    value = value * 16 + digit;
  }
  return value;
}

export type Directive =
  | { readonly name: 'YAML'; readonly major: number; readonly minor: number }
  | { readonly name: 'TAG'; readonly handle: string; readonly prefix: string };

/** Reads a directive, a line that begins with a percent sign. */
export function scanDirective(cursor: YamlCursor): Directive {
  const start = cursor.mark();
  cursor.skip();
  const name = cursor.readWord();
  if (name === '') cursor.fail('could not find expected directive name', start);
  if (!cursor.isBlankOrEnd()) cursor.fail('found unexpected non-alphabetical character', start);
  let directive: Directive;
  if (name === 'YAML') directive = scanVersion(cursor, start);
  else if (name === 'TAG') directive = scanTagDirective(cursor, start);
  else return cursor.fail('found unknown directive name', start);
  endOfHeader(cursor, start);
  return directive;
}

function scanVersion(cursor: YamlCursor, start: Mark): Directive {
  cursor.skipBlanks();
  const number = (): number => {
    let digits = '';
    while (cursor.isDigit()) {
      if (digits.length === 2) cursor.fail('found extremely long version number', start);
      digits += cursor.read();
    }
    if (digits === '') cursor.fail('did not find expected version number', start);
    return Number(digits);
  };
  const major = number();
  if (!cursor.is('.')) cursor.fail("did not find expected digit or '.' character", start);
  cursor.skip();
  return { name: 'YAML', major, minor: number() };
}

function scanTagDirective(cursor: YamlCursor, start: Mark): Directive {
  cursor.skipBlanks();
  const handle = scanHandle(cursor, start);
  if (!handle.endsWith('!')) cursor.fail("did not find expected '!'", start);
  if (!cursor.isBlank()) cursor.fail('did not find expected whitespace', start);
  cursor.skipBlanks();
  const prefix = scanUri(cursor, '', start);
  if (!cursor.isBlankOrEnd()) cursor.fail('did not find expected whitespace or line break', start);
  return { name: 'TAG', handle, prefix };
}

/** Reads the rest of the line, in which only a comment may follow. */
function endOfHeader(cursor: YamlCursor, start: Mark): void {
  cursor.skipBlanks();
  cursor.skipComment();
  if (!cursor.isBreakOrEnd()) cursor.fail('did not find expected comment or line break', start);
  if (cursor.isBreak()) cursor.readLine();
}

/** The style of a scalar after `|`, which keeps its line breaks, or after `>`. */
export type BlockStyle = 'literal' | 'folded';

/** Reads a scalar after `|` or `>`. `parent` is the indentation of the lines around it. */
export function scanBlockScalar(cursor: YamlCursor, style: BlockStyle, parent: number): string {
  const start = cursor.mark();
  cursor.skip();
  const { chomping, increment } = scanBlockHeader(cursor, start);
  endOfHeader(cursor, start);
  const wanted = increment === 0 ? 0 : Math.max(parent, 0) + increment;
  let { indent, breaks } = scanBlockBreaks(cursor, wanted, parent, start);
  const parts: string[] = [];
  let lineBreak = '';
  let blankBefore = false;
  while (cursor.column === indent && !cursor.isEnd()) {
    const blank = cursor.isBlank();
    if (style === 'folded' && lineBreak === '\n' && !blankBefore && !blank) parts.push(breaks === '' ? ' ' : '');
    else parts.push(lineBreak);
    parts.push(breaks);
    blankBefore = blank;
    parts.push(cursor.readUntil(() => cursor.isBreakOrEnd()));
    lineBreak = cursor.isEnd() ? '' : cursor.readLine();
    ({ indent, breaks } = scanBlockBreaks(cursor, indent, parent, start));
  }
  if (chomping !== '-') parts.push(lineBreak);
  if (chomping === '+') parts.push(breaks);
  return parts.join('');
}

function scanBlockHeader(cursor: YamlCursor, start: Mark): { chomping: string; increment: number } {
  const chomp = (): string => (cursor.is('+') || cursor.is('-') ? cursor.read() : '');
  const digit = (): number => {
    if (!cursor.isDigit()) return 0;
    if (cursor.is('0')) cursor.fail('found an indentation indicator equal to 0', start);
    return Number(cursor.read());
  };
  const before = chomp();
  const increment = digit();
  return { chomping: before === '' && increment > 0 ? chomp() : before, increment };
}

/** Reads empty lines and the indentation before content. An `indent` of 0 is not known yet: the longest indentation decides. */
function scanBlockBreaks(
  cursor: YamlCursor,
  indent: number,
  parent: number,
  start: Mark,
): { indent: number; breaks: string } {
  let breaks = '';
  let longest = 0;
  for (;;) {
    while ((indent === 0 || cursor.column < indent) && cursor.is(' ')) cursor.skip();
    longest = Math.max(longest, cursor.column);
    if ((indent === 0 || cursor.column < indent) && cursor.is('\t')) {
      cursor.fail('found a tab character where an indentation space is expected', start);
    }
    if (!cursor.isBreak()) break;
    breaks += cursor.readLine();
  }
  return { indent: indent === 0 ? Math.max(longest, parent + 1, 1) : indent, breaks };
}

/** Returns what separates the lines of a folded scalar, from its first break and those that follow. */
const folded = (first: string, more: string): string => (first === '\n' ? (more === '' ? ' ' : more) : first + more);

/** Reads a quoted scalar, including both quotes. */
export function scanQuoted(cursor: YamlCursor, quote: "'" | '"'): string {
  const start = cursor.mark();
  const single = quote === "'";
  cursor.skip();
  const parts: string[] = [];
  for (;;) {
    if (cursor.isDocumentIndicator('---') || cursor.isDocumentIndicator('...')) {
      cursor.fail('found unexpected document indicator', start);
    }
    if (cursor.isEnd()) cursor.fail('found unexpected end of stream', start);
    let joined = false;
    while (!cursor.isBlankOrEnd()) {
      if (single && cursor.is("'") && cursor.is("'", 1)) {
        parts.push("'");
        cursor.skip(2);
      } else if (cursor.is(quote)) break;
      else if (!single && cursor.is('\\') && cursor.isBreak(1)) {
        cursor.skip();
        cursor.readLine();
        joined = true;
        break;
      } else if (cursor.is('\\')) parts.push(single ? cursor.read() : scanEscape(cursor, start));
      else parts.push(cursor.readUntil(() => cursor.isBlankOrEnd() || cursor.is(quote) || cursor.is('\\')));
    }
    if (cursor.is(quote)) break;
    parts.push(scanQuotedBlanks(cursor, joined));
  }
  cursor.skip();
  return parts.join('');
}

/** Reads blanks and line breaks. `joined` means that the line break before was escaped, and so yields nothing. */
function scanQuotedBlanks(cursor: YamlCursor, joined: boolean): string {
  let first: string | undefined = joined ? '' : undefined;
  let blanks = '';
  let more = '';
  while (cursor.isBlank() || cursor.isBreak()) {
    if (cursor.isBlank()) blanks += cursor.read();
    else if (first === undefined) first = cursor.readLine();
    else more += cursor.readLine();
  }
  return first === undefined ? blanks : folded(first, more);
}

const ESCAPES: Readonly<Record<string, string>> = {
  0: '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  '\t': '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  '"': '"',
  "'": "'",
  '\\': '\\',
  N: '\x85',
  _: '\xa0',
  L: '\u2028',
  P: '\u2029',
};
const CODES: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

function scanEscape(cursor: YamlCursor, start: Mark): string {
  const name = String.fromCharCode(cursor.at(1));
  const plain = getOwn(ESCAPES, name);
  const length = getOwn(CODES, name) ?? 0;
  if (plain === undefined && length === 0) cursor.fail('found unknown escape character', start);
  cursor.skip(2);
  if (plain !== undefined) return plain;
  const code = hexValue(cursor, 0, length);
  if (code === undefined) return cursor.fail('did not find expected hexdecimal number', start);
  if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) {
    cursor.fail('found invalid Unicode character escape code', start);
  }
  cursor.skip(length);
  return String.fromCodePoint(code);
}

/** Reads an unquoted scalar. `newLine` means that it ended at the beginning of a line, where a key may follow. */
export function scanPlain(
  cursor: YamlCursor,
  context: 'flow' | 'block',
  parent: number,
): { readonly value: string; readonly newLine: boolean } {
  const start = cursor.mark();
  const parts: string[] = [];
  let blanks = '';
  let first: string | undefined;
  let more = '';
  const isEnd = (): boolean =>
    cursor.isBlankOrEnd() ||
    (cursor.is(':') && cursor.isBlankOrEnd(1)) ||
    (context === 'flow' && ',?[]{}'.includes(String.fromCharCode(cursor.at())));
  for (;;) {
    if (cursor.isDocumentIndicator('---') || cursor.isDocumentIndicator('...') || cursor.is('#')) break;
    const run = cursor.readUntil(isEnd);
    if (run !== '') {
      parts.push(first === undefined ? blanks : folded(first, more), run);
      first = undefined;
      blanks = more = '';
    }
    if (!(cursor.isBlank() || cursor.isBreak())) break;
    while (cursor.isBlank() || cursor.isBreak()) {
      if (cursor.isBreak()) {
        if (first === undefined) first = cursor.readLine();
        else more += cursor.readLine();
      } else {
        if (first !== undefined && cursor.column <= parent && cursor.is('\t')) {
          cursor.fail('found a tab character that violates indentation', start);
        }
        const blank = cursor.read();
        if (first === undefined) blanks += blank;
      }
    }
    if (context === 'block' && cursor.column <= parent) break;
  }
  return { value: parts.join(''), newLine: first !== undefined };
}
