import type { JsonObject, JsonValue } from '../json/json.js';
import { formatFloat } from '../json/go-format.js';
import { scalarText } from './scalars.js';

/** Keys of more bytes than this are written with a question mark. */
const MAX_SIMPLE_KEY = 128;

const isLetter = (char: string): boolean => /\p{L}/u.test(char);
const isDigit = (char: string): boolean => /\p{Nd}/u.test(char);

/** Compares keys: like text, but runs of digits by their value, and letters after everything else. */
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

/**
 * Formats a number. A whole number whose JSON fits a signed or unsigned 64-bit integer is written in full. -2^63 as a float is
 * rounded beyond that range.
 */
function formatNumber(value: number): string {
  const whole = Number.isInteger(value) && value < 2 ** 64 && value > -(2 ** 63);
  return whole ? String(value) : formatFloat(value);
}

/** The line on which a block collection starts. */
type Start = 'this line' | 'next line';

class Emitter {
  /** The output. It is not read before the end: a string that grows and is read in between is copied each time. */
  private out = '';
  /** The number of characters in the current line. */
  private column = 0;

  run(value: JsonValue): string {
    this.value(value, 0, 2, 'next line');
    return this.column === 0 ? this.out : `${this.out}\n`;
  }

  /**
   * Writes a value at the current position. `indent` is for the lines of a block collection, `inner` for those of a literal. `start`
   * is where the first key or item goes.
   */
  private value(value: JsonValue, indent: number, inner: number, start: Start): void {
    if (Array.isArray(value)) this.list(value, indent, start);
    else if (typeof value === 'object' && value !== null) this.map(value, indent, start);
    else if (typeof value === 'string') this.write(this.scalar(value, inner, 'anywhere'));
    else if (typeof value === 'number') this.write(formatNumber(value));
    else this.write(String(value));
  }

  private list(items: readonly JsonValue[], indent: number, start: Start): void {
    if (items.length === 0) {
      this.write('[]');
      return;
    }
    items.forEach((item, i) => {
      if (start === 'next line' || i > 0) this.lineStart(indent);
      this.write('- ');
      this.value(item, indent + 2, indent + 2, 'this line');
    });
  }

  private map(object: JsonObject, indent: number, start: Start): void {
    const keys = Object.keys(object)
      .filter((key) => object[key] !== undefined)
      .sort(compareKeys);
    if (keys.length === 0) {
      this.write('{}');
      return;
    }
    keys.forEach((key, i) => {
      if (start === 'next line' || i > 0) this.lineStart(indent);
      this.entry(key, object[key] ?? null, indent);
    });
  }

  private entry(key: string, value: JsonValue, indent: number): void {
    const simple = !/[\n\r\u0085\u2028\u2029]/.test(key) && Buffer.byteLength(key) <= MAX_SIMPLE_KEY;
    if (!simple) {
      this.write(`? ${this.scalar(key, indent + 2, 'anywhere')}`);
      this.lineStart(indent);
      this.write(': ');
      this.value(value, indent + 2, indent + 2, 'this line');
      return;
    }
    // An empty plain scalar cannot be a key.
    this.write(`${key === '' ? '""' : this.scalar(key, indent, 'simple key')}:`);
    const block = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
    if (!block) this.write(' ');
    this.value(value, Array.isArray(value) ? indent : indent + 2, indent + 2, 'next line');
  }

  private write(text: string): void {
    this.out += text;
    const end = text.lastIndexOf('\n');
    this.column = end < 0 ? this.column + text.length : text.length - end - 1;
  }

  private scalar(text: string, indent: number, place: 'simple key' | 'anywhere'): string {
    return scalarText(text, { column: this.column, indent, key: place === 'simple key' });
  }

  private lineStart(indent: number): void {
    if (this.out.length === 0) return;
    if (this.column > 0) this.write('\n');
    this.write(' '.repeat(indent));
  }
}

/** Returns YAML as Kubernetes prints it: block style, keys sorted, lists not indented. */
export function toYaml(value: JsonValue): string {
  return new Emitter().run(value);
}
