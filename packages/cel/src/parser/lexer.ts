import type { Issue } from '../source.js';

/** The kind of a token. Punctuation and keywords are each a kind of their own. */
export type TokenKind =
  'IDENTIFIER' | 'ESC_IDENTIFIER' | 'NUM_INT' | 'NUM_UINT' | 'NUM_FLOAT' | 'STRING' | 'BYTES' | '<EOF>' | Punctuation;

type Punctuation =
  | '=='
  | '!='
  | 'in'
  | '<'
  | '<='
  | '>='
  | '>'
  | '&&'
  | '||'
  | '['
  | ']'
  | '{'
  | '}'
  | '('
  | ')'
  | '.'
  | ','
  | '-'
  | '!'
  | '?'
  | ':'
  | '+'
  | '*'
  | '/'
  | '%'
  | 'true'
  | 'false'
  | 'null';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly offset: number;
}

/** The start of a string: the position of its opening quote, and what the prefix says. */
interface Quote {
  readonly at: number;
  readonly raw: boolean;
  readonly kind: 'STRING' | 'BYTES';
}

const KEYWORDS = new Map<string, TokenKind>((['in', 'true', 'false', 'null'] as const).map((kind) => [kind, kind]));

const SINGLE = new Map<string, TokenKind>(
  (['[', ']', '{', '}', '(', ')', '.', ',', '-', '?', ':', '+', '*', '/', '%'] as const).map((kind) => [kind, kind]),
);

const isDigit = (c: number): boolean => c >= 48 && c <= 57;
const isLetter = (c: number): boolean => (c >= 65 && c <= 90) || (c >= 97 && c <= 122);
const isWord = (c: number): boolean => isLetter(c) || isDigit(c) || c === 95;
const isHex = (c: number): boolean => isDigit(c) || (c >= 65 && c <= 70) || (c >= 97 && c <= 102);
/** Reports whether a character may occur in an escaped identifier. */
const isEscaped = (c: number): boolean => isWord(c) || c === 46 || c === 45 || c === 47 || c === 32;

/** Splits an expression into tokens. Text that is not a token is reported and skipped. */
export class Lexer {
  readonly tokens: Token[] = [];
  private at = 0;

  constructor(
    private readonly source: string,
    private readonly issues: Issue[],
  ) {}

  run(): readonly Token[] {
    while (this.at < this.source.length) this.next();
    this.tokens.push({ kind: '<EOF>', text: '<EOF>', offset: this.source.length });
    return this.tokens;
  }

  private push(kind: TokenKind, end: number): void {
    this.tokens.push({ kind, text: this.source.slice(this.at, end), offset: this.at });
    this.at = end;
  }

  /** Reports the text from the start of the token to the character at `at`, which fits no rule, and continues after it. */
  private fail(at: number): void {
    const code = this.source.codePointAt(at);
    const end = code === undefined ? at : at + (code > 0xffff ? 2 : 1);
    const text = this.source.slice(this.at, end);
    this.issues.push({ offset: this.at, message: `Syntax error: token recognition error at: '${text}'` });
    this.at = Math.max(end, this.at + 1);
  }

  private next(): void {
    const c = this.source.charCodeAt(this.at);
    if (c === 32 || c === 9 || c === 10 || c === 13 || c === 12) {
      this.at++;
      return;
    }
    const second = this.source.charCodeAt(this.at + 1);
    if (c === 47 && second === 47) {
      const end = this.source.indexOf('\n', this.at);
      this.at = end < 0 ? this.source.length : end;
    } else if (isDigit(c) || (c === 46 && isDigit(second))) this.number();
    else if (isLetter(c) || c === 95) this.word();
    else if (c === 34 || c === 39) this.string({ at: this.at, raw: false, kind: 'STRING' });
    else if (c === 96) this.escapedIdentifier();
    else this.operator(c, second);
  }

  private operator(c: number, second: number): void {
    const char = String.fromCharCode(c);
    switch (char) {
      case '=':
      case '&':
      case '|':
        if (second !== (char === '=' ? 61 : c)) {
          this.fail(this.at + 1);
          return;
        }
        this.push(char === '=' ? '==' : char === '&' ? '&&' : '||', this.at + 2);
        return;
      case '!':
      case '<':
      case '>':
        if (second === 61) this.push(char === '!' ? '!=' : char === '<' ? '<=' : '>=', this.at + 2);
        else this.push(char, this.at + 1);
        return;
      default: {
        const kind = SINGLE.get(char);
        if (kind === undefined) this.fail(this.at);
        else this.push(kind, this.at + 1);
      }
    }
  }

  private digits(from: number): number {
    let end = from;
    while (isDigit(this.source.charCodeAt(end))) end++;
    return end;
  }

  private number(): void {
    const src = this.source;
    if (src.charCodeAt(this.at) === 48 && src.charCodeAt(this.at + 1) === 120 && isHex(src.charCodeAt(this.at + 2))) {
      let end = this.at + 2;
      while (isHex(src.charCodeAt(end))) end++;
      this.integer(end);
      return;
    }
    let end = this.digits(this.at);
    let float = false;
    if (src[end] === '.' && isDigit(src.charCodeAt(end + 1))) {
      end = this.digits(end + 1);
      float = true;
    }
    if (src[end] === 'e' || src[end] === 'E') {
      const sign = src[end + 1] === '+' || src[end + 1] === '-' ? 1 : 0;
      if (isDigit(src.charCodeAt(end + 1 + sign))) {
        end = this.digits(end + 1 + sign);
        float = true;
      }
    }
    if (float) this.push('NUM_FLOAT', end);
    else this.integer(end);
  }

  private integer(end: number): void {
    const suffix = this.source[end];
    if (suffix === 'u' || suffix === 'U') this.push('NUM_UINT', end + 1);
    else this.push('NUM_INT', end);
  }

  private word(): void {
    const quote = this.quoteAfterPrefix();
    if (quote !== undefined) {
      this.string(quote);
      return;
    }
    let end = this.at + 1;
    while (isWord(this.source.charCodeAt(end))) end++;
    this.push(KEYWORDS.get(this.source.slice(this.at, end)) ?? 'IDENTIFIER', end);
  }

  /** Detects a string with a prefix: r, b or br, in either case. */
  private quoteAfterPrefix(): Quote | undefined {
    let at = this.at;
    const bytes = this.source[at] === 'b' || this.source[at] === 'B';
    if (bytes) at++;
    const raw = this.source[at] === 'r' || this.source[at] === 'R';
    if (raw) at++;
    const quote = this.source[at];
    return quote === '"' || quote === "'" ? { at, raw, kind: bytes ? 'BYTES' : 'STRING' } : undefined;
  }

  private string({ at, raw, kind }: Quote): void {
    const quote = this.source[at] ?? '"';
    const triple = quote.repeat(3);
    if (this.source.startsWith(triple, at)) {
      const end = this.stringEnd(at + 3, triple, raw);
      if (end.found) {
        this.push(kind, end.at);
        return;
      }
      // An unclosed triple quote reads as an empty string.
      this.push(kind, at + 2);
      return;
    }
    const end = this.stringEnd(at + 1, quote, raw);
    if (end.found) this.push(kind, end.at);
    // A prefix that no string follows is an identifier.
    else if (at > this.at) this.push('IDENTIFIER', at);
    else this.fail(end.at);
  }

  /** Returns where the string whose content begins at `start` ends, or the position of the character that is not allowed in it. */
  private stringEnd(start: number, quote: string, raw: boolean): { found: boolean; at: number } {
    let at = start;
    while (at < this.source.length) {
      if (this.source.startsWith(quote, at)) return { found: true, at: at + quote.length };
      const c = this.source[at];
      if (quote.length === 1 && (c === '\n' || c === '\r')) return { found: false, at };
      if (c === '\\' && !raw) {
        const length = this.escapeLength(at + 1);
        if (length < 0) return { found: false, at: at - length };
        at += 1 + length;
      } else at++;
    }
    return { found: false, at };
  }

  /** Returns the length of the escape sequence after a backslash. If it is invalid, returns the negated distance to the invalid character. */
  private escapeLength(at: number): number {
    const c = this.source[at] ?? '';
    if (c !== '' && 'abfnrtv"\'\\?`'.includes(c)) return 1;
    if (c >= '0' && c <= '3' && c !== '') {
      for (let i = 1; i <= 2; i++) {
        const digit = this.source.charCodeAt(at + i);
        if (!(digit >= 48 && digit <= 55)) return -(i + 1);
      }
      return 3;
    }
    const digits = c === 'x' || c === 'X' ? 2 : c === 'u' ? 4 : c === 'U' ? 8 : 0;
    if (digits === 0) return -1;
    for (let i = 1; i <= digits; i++) if (!isHex(this.source.charCodeAt(at + i))) return -(i + 1);
    return digits + 1;
  }

  private escapedIdentifier(): void {
    let end = this.at + 1;
    while (isEscaped(this.source.charCodeAt(end))) end++;
    if (this.source[end] === '`' && end > this.at + 1) this.push('ESC_IDENTIFIER', end + 1);
    else this.fail(end);
  }
}
