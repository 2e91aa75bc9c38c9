import { quote } from '../../go/quote.js';

/** The maximum nesting depth of arrays and objects. */
export const MAX_DEPTH = 10000;

/** An error in text that is not JSON or cannot become a value. The message is that of Go's decoder. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

/** A number outside the range of float64. */
export class NumberRangeError extends JsonError {
  /** @param place the part of the Go value that the number was to be decoded into */
  constructor(
    readonly literal: string,
    place = 'value',
  ) {
    super(`json: cannot unmarshal number ${literal} into Go ${place} of type float64`);
  }
}

const TAB = 0x09;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** The characters that may follow a backslash, besides `u`. */
const ESCAPES = 'bfnrt\\/"';

const isDigit = (c: number): boolean => c >= ZERO && c <= NINE;
const isSpace = (c: number): boolean => c === SPACE || c === NEWLINE || c === RETURN || c === TAB;
const isHex = (c: number): boolean => isDigit(c) || (c >= 0x61 && c <= 0x66) || (c >= 0x41 && c <= 0x46);

/** Stops the checker at the first error. */
class Failure extends Error {}

function quoteChar(c: number): string {
  if (c === 0x27) return "'\\''";
  if (c === QUOTE) return "'\"'";
  return `'${quote(String.fromCharCode(c)).slice(1, -1)}'`;
}

/** Walks over text that JSON.parse rejected, to find the error that Go would report. */
class SyntaxChecker {
  private at = 0;
  constructor(private readonly bytes: Uint8Array) {}

  run(): string | undefined {
    try {
      this.values();
      return undefined;
    } catch (failure) {
      if (failure instanceof Failure) return failure.message;
      throw failure;
    }
  }

  private fail(context: string): never {
    throw new Failure(`invalid character ${quoteChar(this.bytes[this.at] ?? 0)} ${context}`);
  }

  /** Returns the byte at the cursor. The end of the text is an error. */
  private need(): number {
    const c = this.bytes[this.at];
    if (c === undefined) throw new Failure('unexpected end of JSON input');
    return c;
  }

  private skipSpace(): void {
    for (let c = this.bytes[this.at]; c !== undefined && isSpace(c); c = this.bytes[this.at]) this.at++;
  }

  /** Checks one value with everything in it, without recursion: the open brackets are on a stack. */
  private values(): void {
    const open: ('{' | '[')[] = [];
    let wanted: 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'after' = 'value';
    for (;;) {
      this.skipSpace();
      if (wanted === 'after') {
        if (open.length === 0) {
          if (this.at < this.bytes.length) this.fail('after top-level value');
          return;
        }
        wanted = this.afterValue(open);
        continue;
      }
      const c = this.need();
      if (wanted === 'key' || wanted === 'key-or-end') {
        if (wanted === 'key-or-end' && c === 0x7d) {
          this.at++;
          open.pop();
          wanted = 'after';
          continue;
        }
        this.key();
        wanted = 'value';
      } else if (wanted === 'value-or-end' && c === 0x5d) {
        this.at++;
        open.pop();
        wanted = 'after';
      } else if (c === 0x7b || c === 0x5b) {
        this.at++;
        open.push(c === 0x7b ? '{' : '[');
        if (open.length > MAX_DEPTH) throw new Failure('exceeded max depth');
        wanted = c === 0x7b ? 'key-or-end' : 'value-or-end';
      } else {
        this.scalar(c);
        wanted = 'after';
      }
    }
  }

  private afterValue(open: ('{' | '[')[]): 'key' | 'value' | 'after' {
    const c = this.need();
    const inObject = open[open.length - 1] === '{';
    if (c === COMMA) {
      this.at++;
      return inObject ? 'key' : 'value';
    }
    if (c !== (inObject ? 0x7d : 0x5d)) this.fail(inObject ? 'after object key:value pair' : 'after array element');
    this.at++;
    open.pop();
    return 'after';
  }

  private key(): void {
    if (this.need() !== QUOTE) this.fail('looking for beginning of object key string');
    this.string();
    this.skipSpace();
    if (this.need() !== COLON) this.fail('after object key');
    this.at++;
  }

  private scalar(c: number): void {
    if (c === QUOTE) this.string();
    else if (c === MINUS || isDigit(c)) this.number();
    else if (c === 0x74) this.literal('true');
    else if (c === 0x66) this.literal('false');
    else if (c === 0x6e) this.literal('null');
    else this.fail('looking for beginning of value');
  }

  private string(): void {
    this.at++;
    for (;;) {
      const c = this.need();
      if (c === QUOTE) break;
      if (c < SPACE) this.fail('in string literal');
      this.at++;
      if (c === BACKSLASH) this.escape();
    }
    this.at++;
  }

  private escape(): void {
    const c = this.need();
    if (c !== 0x75) {
      if (!ESCAPES.includes(String.fromCharCode(c))) this.fail('in string escape code');
      this.at++;
      return;
    }
    this.at++;
    for (let i = 0; i < 4; i++) {
      if (!isHex(this.need())) this.fail('in \\u hexadecimal character escape');
      this.at++;
    }
  }

  /** Fails at the end of the text: within a word it counts as the space that would end the word. */
  private failAtEnd(context: string): void {
    if (this.at >= this.bytes.length) throw new Failure(`invalid character ' ' ${context}`);
  }

  private digits(context: string): void {
    this.failAtEnd(context);
    if (!isDigit(this.need())) this.fail(context);
    while (isDigit(this.bytes[this.at] ?? 0)) this.at++;
  }

  private number(): void {
    if (this.need() === MINUS) this.at++;
    this.failAtEnd('in numeric literal');
    const first = this.need();
    if (first === ZERO) this.at++;
    else this.digits('in numeric literal');
    if (this.bytes[this.at] === DOT) {
      this.at++;
      this.digits('after decimal point in numeric literal');
    }
    const e = this.bytes[this.at];
    if (e !== 0x65 && e !== 0x45) return;
    this.at++;
    this.failAtEnd('in exponent of numeric literal');
    const sign = this.need();
    if (sign === MINUS || sign === 0x2b) this.at++;
    this.digits('in exponent of numeric literal');
  }

  private literal(word: string): void {
    for (let i = 0; i < word.length; i++) {
      this.failAtEnd(`in literal ${word} (expecting '${word.charAt(i)}')`);
      if (this.need() !== word.charCodeAt(i)) this.fail(`in literal ${word} (expecting '${word.charAt(i)}')`);
      this.at++;
    }
  }
}

/** Returns what Go's decoder reports about the text; undefined if it is well-formed. */
export function jsonSyntaxError(bytes: Uint8Array): string | undefined {
  return new SyntaxChecker(bytes).run();
}
