import { fn, method, overload } from '../declarations.js';
import type { Library } from './library.js';
import { shown } from '../evaluator/access.js';
import { DYN, INT, STRING, listOf } from '../types.js';
import { codePointLength, isFlat } from '../values/text.js';
import type { Integer } from '../values/integer.js';
import type { Value } from '../values/value.js';
import { ArrayList, CelError, CelList, NO_SUCH_OVERLOAD } from '../values/value.js';
import { formatText } from './format-text.js';
import { boundText, onString, onStrings } from './helpers.js';

const outOfRange = (index: Integer): CelError => new CelError(`index out of range: ${index}`);

/** The UTF-16 offset of a code point index. */
function offsetOf(text: string, index: number): number {
  let offset = 0;
  for (let i = 0; i < index; i++) offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1;
  return offset;
}

/** The part of a text between code point indices that are within it. */
function between(text: string, start: number, end: number): string {
  return isFlat(text) ? text.slice(start, end) : text.slice(offsetOf(text, start), offsetOf(text, end));
}

function charAt(text: string, index: Integer): Value {
  const length = codePointLength(text);
  if (index < 0 || index > length) return outOfRange(index);
  const at = Number(index);
  return between(text, at, Math.min(at + 1, length));
}

function indexOf(text: string, part: string, from: Integer): Value {
  if (part === '') return from;
  if (from < 0) return outOfRange(from);
  if (from >= codePointLength(text)) return -1;
  const at = text.indexOf(part, offsetOf(text, Number(from)));
  return at < 0 ? -1 : codePointLength(text.slice(0, at));
}

function lastIndexOf(text: string, part: string, from: Integer): Value {
  if (part === '') return from;
  if (from < 0) return outOfRange(from);
  if (from >= codePointLength(text)) return -1;
  const at = text.lastIndexOf(part, offsetOf(text, Number(from)));
  return at < 0 ? -1 : codePointLength(text.slice(0, at));
}

function substring(text: string, start: Integer, end: Integer): Value {
  const length = codePointLength(text);
  if (start > end) return new CelError(`invalid substring range. start: ${start}, end: ${end}`);
  if (start < 0 || start > length) return outOfRange(start);
  return end > length ? outOfRange(end) : between(text, Number(start), Number(end));
}

/** Go's strings.Split: an empty separator splits between characters. */
function pieces(text: string, separator: string): string[] {
  if (separator === '') return Array.from(text);
  return text.split(separator);
}

function splitN(text: string, separator: string, most: Integer): Value {
  const limit = Number(most);
  if (limit === 0) return new ArrayList([]);
  const all = pieces(text, separator);
  if (limit < 0 || all.length <= limit) return new ArrayList(all);
  return new ArrayList([...all.slice(0, limit - 1), all.slice(limit - 1).join(separator)]);
}

function replaceN(text: string, old: string, replacement: string, limit: number): string {
  if (limit === 0) return text;
  // An empty pattern matches before every character and at the end.
  const parts = old === '' ? ['', ...Array.from(text), ''] : text.split(old);
  const count = limit < 0 ? parts.length - 1 : Math.min(limit, parts.length - 1);
  boundText(text.length + count * (replacement.length - old.length));
  if (count === parts.length - 1) return parts.join(replacement);
  return (
    parts.slice(0, count + 1).join(replacement) +
    parts
      .slice(count + 1)
      .map((part) => old + part)
      .join('')
  );
}

const SPACE =
  /^[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+|[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$/g;

function join(list: Value, separator: Value): Value {
  if (!(list instanceof CelList) || typeof separator !== 'string') return NO_SUCH_OVERLOAD;
  const parts: string[] = [];
  let length = 0;
  for (const item of list) {
    if (typeof item !== 'string') return new CelError(`join: invalid input: ${shown(item)}`);
    parts.push(item);
    boundText((length += item.length + separator.length));
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

const isIndex = (value: Value | undefined): value is Integer => typeof value === 'number' || typeof value === 'bigint';

const indexed =
  (run: (text: string, index: Integer) => Value) =>
  (text?: Value, index?: Value): Value =>
    typeof text === 'string' && isIndex(index) ? run(text, index) : NO_SUCH_OVERLOAD;
const searched =
  (run: (text: string, part: string, from: Integer) => Value) =>
  (text?: Value, part?: Value, from?: Value): Value =>
    typeof text === 'string' && typeof part === 'string' && isIndex(from) ? run(text, part, from) : NO_SUCH_OVERLOAD;

const lower = (text: string): string => text.replace(/[A-Z]+/g, (part) => part.toLowerCase());
const upper = (text: string): string => text.replace(/[a-z]+/g, (part) => part.toUpperCase());

export const STRINGS_LIBRARY: Library = {
  functions: [
    fn('charAt', method('string_char_at_int', [STRING, INT], STRING, indexed(charAt))),
    fn(
      'indexOf',
      method(
        'string_index_of_string',
        [STRING, STRING],
        INT,
        onStrings((text, part) => indexOf(text, part, 0)),
      ),
      method('string_index_of_string_int', [STRING, STRING, INT], INT, searched(indexOf)),
    ),
    fn(
      'lastIndexOf',
      method(
        'string_last_index_of_string',
        [STRING, STRING],
        INT,
        onStrings((text, part) =>
          part === '' ? codePointLength(text) : text === '' ? -1 : lastIndexOf(text, part, codePointLength(text) - 1),
        ),
      ),
      method('string_last_index_of_string_int', [STRING, STRING, INT], INT, searched(lastIndexOf)),
    ),
    fn('lowerAscii', method('string_lower_ascii', [STRING], STRING, onString(lower))),
    fn('upperAscii', method('string_upper_ascii', [STRING], STRING, onString(upper))),
    fn(
      'replace',
      method('string_replace_string_string', [STRING, STRING, STRING], STRING, (text, old, replacement) =>
        replaceN(text as string, old as string, replacement as string, -1),
      ),
      method(
        'string_replace_string_string_int',
        [STRING, STRING, STRING, INT],
        STRING,
        (text, old, replacement, limit) =>
          replaceN(text as string, old as string, replacement as string, Number(limit)),
      ),
    ),
    fn(
      'split',
      method(
        'string_split_string',
        [STRING, STRING],
        listOf(STRING),
        onStrings((text, separator) => new ArrayList(pieces(text, separator))),
      ),
      method('string_split_string_int', [STRING, STRING, INT], listOf(STRING), searched(splitN)),
    ),
    fn(
      'substring',
      method(
        'string_substring_int',
        [STRING, INT],
        STRING,
        indexed((text, start) => {
          const length = codePointLength(text);
          return start < 0 || start > length ? outOfRange(start) : between(text, Number(start), length);
        }),
      ),
      method('string_substring_int_int', [STRING, INT, INT], STRING, (text, start, end) =>
        isIndex(start) && isIndex(end) ? substring(text as string, start, end) : NO_SUCH_OVERLOAD,
      ),
    ),
    fn(
      'trim',
      method(
        'string_trim',
        [STRING],
        STRING,
        onString((text) => text.replace(SPACE, '')),
      ),
    ),
    fn(
      'join',
      method('list_join', [listOf(STRING)], STRING, (list) => join(list, '')),
      method('list_join_string', [listOf(STRING), STRING], STRING, (list, separator) => join(list, separator)),
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
