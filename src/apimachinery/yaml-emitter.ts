import type { JsonObject, JsonValue } from './json.js';
import { isAmbiguous } from './yaml-resolve.js';

/** Keys longer than this are written with a question mark. */
const MAX_SIMPLE_KEY = 128;

const isLetter = (char: string): boolean => /\p{L}/u.test(char);
const isDigit = (char: string): boolean => /\p{Nd}/u.test(char);

/** Order of keys: like text, but runs of digits by their value and letters after everything else. */
export function compareKeys(a: string, b: string): number {
  const left = Array.from(a);
  const right = Array.from(b);
  for (let i = 0; i < left.length && i < right.length; i++) {
    const x = left[i] ?? '';
    const y = right[i] ?? '';
    if (x === y) continue;
    const byCode = (x.codePointAt(0) ?? 0) - (y.codePointAt(0) ?? 0);
    const letters = [isLetter(x), isLetter(y)];
    if (letters[0] === true && letters[1] === true) return byCode;
    if (letters[0] !== letters[1]) return letters[1] === true ? -1 : 1;
    return compareDigits(left, right, i) || byCode;
  }
  return left.length - right.length;
}

function compareDigits(left: string[], right: string[], at: number): number {
  let seed = 0n;
  if (left[at] === '0' || right[at] === '0') {
    for (let j = at - 1; j >= 0 && isDigit(left[j] ?? ''); j--) {
      if (left[j] === '0') continue;
      seed = 1n;
      break;
    }
  }
  const run = (chars: string[]): { value: bigint; end: number } => {
    let value = seed;
    let end = at;
    for (; end < chars.length && isDigit(chars[end] ?? ''); end++) {
      value = BigInt.asIntN(64, value * 10n + BigInt((chars[end] ?? '0').codePointAt(0) ?? 0) - 48n);
    }
    return { value, end };
  };
  const x = run(left);
  const y = run(right);
  if (x.value !== y.value) return x.value < y.value ? -1 : 1;
  return x.end - y.end;
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

/** Whether an indicator at this place keeps the text from being written plain. */
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

/** Which styles can hold the text. */
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

function doubleQuoted(text: string): string {
  let out = '"';
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (isPrintable(code) && !isBreak(code) && code !== 0x22 && code !== 0x5c) {
      out += char;
      continue;
    }
    const escape = ESCAPES.get(code);
    const hex = code.toString(16).toUpperCase();
    if (escape !== undefined) out += `\\${escape}`;
    else if (code <= 0xff) out += `\\x${hex.padStart(2, '0')}`;
    else if (code <= 0xffff) out += `\\u${hex.padStart(4, '0')}`;
    else out += `\\U${hex.padStart(8, '0')}`;
  }
  return `${out}"`;
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

/** A text in the style that Go's emitter chooses. In keys no style of several lines is possible. */
function scalarText(text: string, indent: number, key: boolean): string {
  const may = analyze(text);
  if (text.includes('\n')) return may.block && !key ? literal(text, indent) : doubleQuoted(text);
  if (isAmbiguous(text)) return doubleQuoted(text);
  if (may.plain) return text;
  return may.single ? `'${text.replaceAll("'", "''")}'` : doubleQuoted(text);
}

/** Go's shortest `%g`: with an exponent from a million and below a ten-thousandth. */
export function formatG(value: number): string {
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** Whole numbers that an unsigned or signed 64-bit integer holds are written out. */
function formatNumber(value: number): string {
  const whole = Number.isInteger(value) && value < 2 ** 64 && value >= -(2 ** 63);
  return whole ? String(value) : formatG(value);
}

class Emitter {
  private out = '';

  run(value: JsonValue): string {
    this.value(value, 0, 2, false);
    return this.out.endsWith('\n') ? this.out : `${this.out}\n`;
  }

  /**
   * Writes a value where the cursor stands. `indent`: of a block collection's lines; `inner`: of a literal's lines; `inline`:
   * a first key or item goes on the current line.
   */
  private value(value: JsonValue, indent: number, inner: number, inline: boolean): void {
    if (Array.isArray(value)) this.list(value, indent, inline);
    else if (typeof value === 'object' && value !== null) this.map(value, indent, inline);
    else if (typeof value === 'string') this.out += scalarText(value, inner, false);
    else if (typeof value === 'number') this.out += formatNumber(value);
    else this.out += String(value);
  }

  private list(items: readonly JsonValue[], indent: number, inline: boolean): void {
    if (items.length === 0) {
      this.out += '[]';
      return;
    }
    items.forEach((item, i) => {
      this.lineStart(indent, inline && i === 0);
      this.out += '- ';
      this.value(item, indent + 2, indent + 2, true);
    });
  }

  private map(object: JsonObject, indent: number, inline: boolean): void {
    const keys = Object.keys(object)
      .filter((key) => object[key] !== undefined)
      .sort(compareKeys);
    if (keys.length === 0) {
      this.out += '{}';
      return;
    }
    keys.forEach((key, i) => {
      this.lineStart(indent, inline && i === 0);
      this.entry(key, object[key] ?? null, indent);
    });
  }

  private entry(key: string, value: JsonValue, indent: number): void {
    const simple = !/[\n\r\u0085\u2028\u2029]/.test(key) && Buffer.byteLength(key) <= MAX_SIMPLE_KEY;
    if (!simple) {
      this.out += `? ${scalarText(key, indent + 2, false)}`;
      this.lineStart(indent, false);
      this.out += ': ';
      this.value(value, indent + 2, indent + 2, true);
      return;
    }
    // An empty plain text is no key.
    this.out += `${key === '' ? '""' : scalarText(key, indent, true)}:`;
    const block = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
    if (!block) this.out += ' ';
    this.value(value, Array.isArray(value) ? indent : indent + 2, indent + 2, false);
  }

  private lineStart(indent: number, inline: boolean): void {
    if (inline || this.out === '') return;
    if (!this.out.endsWith('\n')) this.out += '\n';
    this.out += ' '.repeat(indent);
  }
}

/** YAML as Kubernetes prints it: block style, keys sorted, lists not indented. */
export function toYaml(value: JsonValue): string {
  return new Emitter().run(value);
}
