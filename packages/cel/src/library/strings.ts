import { fn, type Implementation, method, overload } from '../declarations.js';
import type { Library } from './library.js';
import { formatKey } from '../values/access.js';
import { DYN, INT, STRING, listOf } from '../types.js';
import { codePointLength, isAscii, isBmpOnly, find, findLast, occurrences, split } from '../values/text.js';
import { type Integer, isInteger } from '../values/integer.js';
import { ArrayList, CelError, CelList, NO_SUCH_OVERLOAD, type Value } from '../values/value.js';
import { formatText } from './kubernetes/format-text.js';
import { chargeWork } from '../work.js';
import { checkTextLength, onString, onStrings } from './helpers.js';

const outOfRange = (index: Integer): CelError => new CelError(`index out of range: ${index}`);

/** Returns the UTF-16 offset of a code point index. */
function offsetOf(text: string, index: number): number {
  let offset = 0;
  if (index > 64 && isBmpOnly(text)) return index;
  for (let i = 0; i < index; i++) offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1;
  return offset;
}

/** Returns the substring between two code point indices, which must be in range. */
function between(text: string, start: number, end: number): string {
  return isBmpOnly(text) ? text.slice(start, end) : text.slice(offsetOf(text, start), offsetOf(text, end));
}

function charAt(text: string, index: Integer): Value {
  const length = codePointLength(text);
  if (index < 0 || index > length) return outOfRange(index);
  const at = Number(index);
  return between(text, at, Math.min(at + 1, length));
}

function indexOf(text: string, part: string, from: Integer = 0): Value {
  if (part === '') return from;
  if (from < 0) return outOfRange(from);
  if (from >= codePointLength(text)) return -1;
  const at = find(text, part, offsetOf(text, Number(from)));
  return at < 0 ? -1 : codePointLength(text.slice(0, at));
}

function lastIndexOf(text: string, part: string, from: Integer): Value {
  if (part === '') return from;
  if (from < 0) return outOfRange(from);
  if (from >= codePointLength(text)) return -1;
  const at = findLast(text, part, offsetOf(text, Number(from)));
  return at < 0 ? -1 : codePointLength(text.slice(0, at));
}

function suffix(text: string, start: Integer): Value {
  const length = codePointLength(text);
  return start < 0 || start > length ? outOfRange(start) : between(text, Number(start), length);
}

function substring(text: string, start: Integer, end: Integer): Value {
  const length = codePointLength(text);
  if (start > end) return new CelError(`invalid substring range. start: ${start}, end: ${end}`);
  if (start < 0 || start > length) return outOfRange(start);
  return end > length ? outOfRange(end) : between(text, Number(start), Number(end));
}

/** Splits like Go's strings.Split: an empty separator splits between characters. */
const pieces = (text: string, separator: string): CelList =>
  separator === '' ? Characters.of(text, Infinity) : new ArrayList(split(text, separator));

/** The characters of a string, sliced on access. The last element may be all of the remaining string. */
class Characters extends CelList {
  private constructor(
    private readonly text: string,
    readonly size: number,
    /** The offsets of the characters, or undefined if every character is one UTF-16 unit. */
    private readonly starts: Uint32Array | undefined,
  ) {
    super();
  }

  static of(text: string, most: number): Characters {
    const length = codePointLength(text);
    const size = Math.min(length, most);
    if (length === text.length) return new Characters(text, size, undefined);
    chargeWork(size >>> 2);
    const starts = new Uint32Array(size);
    let at = 0;
    for (let i = 0; i < size; i++) {
      starts[i] = at;
      at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
    }
    return new Characters(text, size, starts);
  }

  get(index: number): Value {
    const { text, starts } = this;
    if (index === this.size - 1) return text.slice(starts?.[index] ?? index);
    return starts === undefined ? (text[index] ?? '') : text.slice(starts[index], starts[index + 1]);
  }
}

/** Units of work per piece that is split off, and per replacement. */
const PER_PIECE = 4;

function splitN(text: string, separator: string, most: Integer): Value {
  const limit = Number(most);
  if (limit === 0) return new ArrayList([]);
  if (limit < 0) return pieces(text, separator);
  if (separator === '') return Characters.of(text, limit);
  const all: Value[] = [];
  let at = 0;
  while (all.length < limit - 1) {
    const end = find(text, separator, at);
    if (end < 0) break;
    chargeWork(PER_PIECE);
    all.push(text.slice(at, end));
    at = end + separator.length;
  }
  all.push(text.slice(at));
  return new ArrayList(all);
}

function replaceN(text: string, old: string, replacement: string, limit: number): string {
  if (limit === 0) return text;
  // An empty pattern matches before every character and at the end.
  if (old === '') return interleave(text, replacement, limit);
  if (limit < 0) {
    const found = occurrences(text, old);
    chargeWork(found.count + 1);
    checkTextLength(text.length + found.count * (replacement.length - old.length));
    return found.replaced(replacement);
  }
  let result = '';
  let at = 0;
  for (let count = 0; count < limit; count++) {
    const next = find(text, old, at);
    if (next < 0) break;
    chargeWork(PER_PIECE);
    result += text.slice(at, next) + replacement;
    checkTextLength(result.length);
    at = next + old.length;
  }
  return result + text.slice(at);
}

/** Inserts a string before each of the first characters, and after the last one if the limit includes it. */
function interleave(text: string, part: string, limit: number): string {
  const length = codePointLength(text);
  const count = limit < 0 ? length + 1 : Math.min(limit, length + 1);
  checkTextLength(text.length + count * part.length);
  if (part === '') return text;
  chargeWork(isBmpOnly(text) ? count : count * 3);
  const end = offsetOf(text, Math.min(count, length));
  const head = isBmpOnly(text) ? text.slice(0, end).split('') : Array.from(text.slice(0, end));
  return (head.length === 0 ? '' : part + head.join(part)) + (count > length ? part : '') + text.slice(end);
}

const SPACE = /[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && SPACE.test(text.charAt(start))) start++;
  while (end > start && SPACE.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** `list.join()` and `list.join(separator)` */
function join(list: Value, separator: Value = ''): Value {
  if (!(list instanceof CelList) || typeof separator !== 'string') return NO_SUCH_OVERLOAD;
  chargeWork(list.size);
  const parts: string[] = [];
  let length = 0;
  for (const item of list) {
    if (typeof item !== 'string') return new CelError(`join: invalid input: ${formatKey(item)}`);
    parts.push(item);
    checkTextLength((length += item.length + separator.length));
  }
  return parts.join(separator);
}

const ESCAPES: Record<string, string> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};
const quote = (text: string): string =>
  `"${Buffer.from(text)
    .toString()
    .replace(/[\x07-\r\\"]/g, (char) => ESCAPES[char] ?? char)}"`;

const indexed =
  (run: (text: string, index: Integer) => Value): Implementation =>
  (text, index) =>
    typeof text === 'string' && isInteger(index) ? run(text, index) : NO_SUCH_OVERLOAD;
const searched =
  (run: (text: string, part: string, from: Integer) => Value): Implementation =>
  (text, part, from) =>
    typeof text === 'string' && typeof part === 'string' && isInteger(from) ? run(text, part, from) : NO_SUCH_OVERLOAD;

/** `text.replace(old, replacement)` and `text.replace(old, replacement, limit)` */
const replace = (text: Value, old: Value, replacement: Value, limit: Value = -1): Value =>
  replaceN(text as string, old as string, replacement as string, Number(limit));

function lastIndexOfAny(text: string, part: string): Value {
  const length = codePointLength(text);
  if (part === '') return length;
  return text === '' ? -1 : lastIndexOf(text, part, length - 1);
}

const lower = (text: string): string =>
  isAscii(text) ? text.toLowerCase() : text.replace(/[A-Z]+/g, (part) => part.toLowerCase());
const upper = (text: string): string =>
  isAscii(text) ? text.toUpperCase() : text.replace(/[a-z]+/g, (part) => part.toUpperCase());

export const STRINGS_LIBRARY: Library = {
  functions: [
    fn('charAt', method('string_char_at_int', [STRING, INT], STRING, indexed(charAt))),
    fn(
      'indexOf',
      method('string_index_of_string', [STRING, STRING], INT, onStrings(indexOf)),
      method('string_index_of_string_int', [STRING, STRING, INT], INT, searched(indexOf)),
    ),
    fn(
      'lastIndexOf',
      method('string_last_index_of_string', [STRING, STRING], INT, onStrings(lastIndexOfAny)),
      method('string_last_index_of_string_int', [STRING, STRING, INT], INT, searched(lastIndexOf)),
    ),
    fn('lowerAscii', method('string_lower_ascii', [STRING], STRING, onString(lower))),
    fn('upperAscii', method('string_upper_ascii', [STRING], STRING, onString(upper))),
    fn(
      'replace',
      method('string_replace_string_string', [STRING, STRING, STRING], STRING, replace),
      method('string_replace_string_string_int', [STRING, STRING, STRING, INT], STRING, replace),
    ),
    fn(
      'split',
      method('string_split_string', [STRING, STRING], listOf(STRING), onStrings(pieces)),
      method('string_split_string_int', [STRING, STRING, INT], listOf(STRING), searched(splitN)),
    ),
    fn(
      'substring',
      method('string_substring_int', [STRING, INT], STRING, indexed(suffix)),
      method('string_substring_int_int', [STRING, INT, INT], STRING, (text, start, end) =>
        isInteger(start) && isInteger(end) ? substring(text as string, start, end) : NO_SUCH_OVERLOAD,
      ),
    ),
    fn('trim', method('string_trim', [STRING], STRING, onString(trim))),
    fn(
      'join',
      method('list_join', [listOf(STRING)], STRING, join),
      method('list_join_string', [listOf(STRING), STRING], STRING, join),
    ),
    fn('strings.quote', overload('strings_quote', [STRING], STRING, onString(quote))),
    fn(
      'format',
      method('string_format', [STRING, listOf(DYN)], STRING, (text, args) =>
        typeof text === 'string' && args instanceof CelList ? formatText(text, args) : NO_SUCH_OVERLOAD,
      ),
    ),
  ],
};
