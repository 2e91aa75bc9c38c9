import { JsonError } from '../json/syntax.js';

/** A position in a text, as Go's scanner counts it: lines and columns from 0, characters from the beginning. */
export interface Mark {
  readonly line: number;
  readonly column: number;
  readonly index: number;
}

/** Returns Go's error. The line is named unless it is the first; the scanner counts lines from one, the parser from zero. */
export function yamlProblem(what: string, line: number, contextLine: number, finder: 'scanner' | 'parser'): JsonError {
  const named = line === 0 ? contextLine : finder === 'scanner' ? line + 1 : line;
  return new JsonError(named === 0 ? `yaml: ${what}` : `yaml: line ${named}: ${what}`);
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;

/** Moves through the characters of a text. The text contains no character with the code 0, which stands for the end. */
export class YamlCursor {
  private pos = 0;
  line = 0;
  column = 0;
  index = 0;

  constructor(private readonly text: string) {}

  /** Returns the code of a character further on; 0 beyond the end. */
  at(ahead = 0): number {
    const code = this.text.charCodeAt(this.pos + ahead);
    return Number.isNaN(code) ? 0 : code;
  }

  is(character: string, ahead = 0): boolean {
    return this.text.charCodeAt(this.pos + ahead) === character.charCodeAt(0);
  }

  isEnd(ahead = 0): boolean {
    return this.pos + ahead >= this.text.length;
  }

  isBlank(ahead = 0): boolean {
    const code = this.at(ahead);
    return code === SPACE || code === TAB;
  }

  isBreak(ahead = 0): boolean {
    const code = this.at(ahead);
    return code === LF || code === CR || code === 0x85 || code === 0x2028 || code === 0x2029;
  }

  isBreakOrEnd(ahead = 0): boolean {
    return this.isBreak(ahead) || this.isEnd(ahead);
  }

  isBlankOrEnd(ahead = 0): boolean {
    return this.isBlank(ahead) || this.isBreakOrEnd(ahead);
  }

  isWord(): boolean {
    const code = this.at();
    return (
      this.isDigit() ||
      (code >= 0x41 && code <= 0x5a) ||
      (code >= 0x61 && code <= 0x7a) ||
      code === 0x5f ||
      code === 0x2d
    );
  }

  isDigit(): boolean {
    const code = this.at();
    return code >= 0x30 && code <= 0x39;
  }

  /** Reports whether there is `---` or `...` at the beginning of a line, followed by a blank, a line break, or the end. */
  isDocumentIndicator(of: '---' | '...'): boolean {
    return this.column === 0 && this.text.startsWith(of, this.pos) && this.isBlankOrEnd(3);
  }

  mark(): Mark {
    return { line: this.line, column: this.column, index: this.index };
  }

  skip(count = 1): void {
    for (let i = 0; i < count; i++) {
      // A surrogate pair is one character.
      this.pos += (this.at() & 0xfc00) === 0xd800 ? 2 : 1;
      this.index++;
      this.column++;
    }
  }

  /** Reads a character. */
  read(): string {
    const { pos } = this;
    this.skip();
    return this.text.slice(pos, this.pos);
  }

  /** Reads characters up to the first at which `isEnd` is true. */
  readUntil(isEnd: () => boolean): string {
    const { pos } = this;
    while (!isEnd()) this.skip();
    return this.text.slice(pos, this.pos);
  }

  /** Reads a line break. The result is a line feed, unless it is one of Unicode's own separators. */
  readLine(): string {
    const code = this.at();
    const length = code === CR && this.at(1) === LF ? 2 : 1;
    this.pos += length;
    this.index += length;
    this.column = 0;
    this.line++;
    return code === 0x2028 || code === 0x2029 ? String.fromCharCode(code) : '\n';
  }

  skipBlanks(): void {
    while (this.isBlank()) this.skip();
  }

  skipComment(): void {
    if (this.is('#')) while (!this.isBreakOrEnd()) this.skip();
  }

  readWord(): string {
    return this.readUntil(() => !this.isWord());
  }

  /** Treats the end of the text as the end of a line. */
  endLine(): void {
    if (this.column === 0) return;
    this.column = 0;
    this.line++;
  }

  fail(what: string, context: Mark): never {
    throw yamlProblem(what, this.line, context.line, 'scanner');
  }
}
