import { type Mark, YamlCursor } from './cursor.js';
import {
  type BlockStyle,
  type Directive,
  scanAnchor,
  scanBlockScalar,
  scanDirective,
  scanPlain,
  scanQuoted,
  scanTag,
  type Tag,
} from './lexemes.js';

/** The maximum nesting depth of collections in Go's scanner. */
const MAX_DEPTH = 10_000;
/** The maximum number of characters of a key without a question mark. */
const MAX_KEY = 1024;

export type Token = { readonly line: number } & (
  | {
      readonly type:
        | 'document-start'
        | 'document-end'
        | 'stream-end'
        | 'block-sequence'
        | 'block-mapping'
        | 'block-end'
        | 'flow-sequence'
        | 'flow-sequence-end'
        | 'flow-mapping'
        | 'flow-mapping-end'
        | 'block-entry'
        | 'flow-entry'
        | 'key'
        | 'value';
    }
  | { readonly type: 'directive'; readonly directive: Directive }
  | { readonly type: 'alias' | 'anchor'; readonly name: string }
  | { readonly type: 'tag'; readonly tag: Tag }
  | { readonly type: 'scalar'; readonly value: string; readonly plain: boolean }
);

type PlainType = Exclude<Token['type'], 'directive' | 'alias' | 'anchor' | 'tag' | 'scalar'>;

/** A position where a key may begin, which only a later colon decides. */
interface SimpleKey {
  possible: boolean;
  /** True if nothing but a key can be at the position. */
  readonly required: boolean;
  readonly token: number;
  readonly mark: Mark;
}

const NO_KEY: Readonly<SimpleKey> = {
  possible: false,
  required: false,
  token: 0,
  mark: { line: 0, column: 0, index: 0 },
};

/** Splits a YAML text into tokens by the rules of YAML 1.1, and reports the errors that Go's scanner finds, where it finds them. */
export class YamlScanner {
  private readonly cursor: YamlCursor;
  private tokens: Token[] = [];
  private head = 0;
  /** True if the first token may be taken. */
  private available = false;
  /** The number of tokens taken so far. */
  private taken = 0;
  private indent = -1;
  private readonly indents: number[] = [];
  private flowLevel = 0;
  /** The possible key of each level of flow collections. */
  private readonly keys: SimpleKey[] = [{ ...NO_KEY }];
  /** The levels of possible keys, by the number of the token that they would begin with. */
  private readonly levels = new Map<number, number>();
  private keyAllowed = true;

  constructor(text: string) {
    this.cursor = new YamlCursor(text);
  }

  peek(): Token {
    if (!this.available) while (this.needsMore()) this.fetch();
    this.available = true;
    return this.tokens[this.head] as Token;
  }

  take(): Token {
    const token = this.peek();
    this.available = false;
    this.head++;
    this.taken++;
    if (this.head > 1000) {
      this.tokens = this.tokens.slice(this.head);
      this.head = 0;
    }
    return token;
  }

  /** Reports whether more tokens are needed: a token that may begin a key is held until it is known whether it does. */
  private needsMore(): boolean {
    if (this.head === this.tokens.length) return true;
    const level = this.levels.get(this.taken);
    const key = level === undefined ? undefined : this.keys[level];
    return key !== undefined && this.isValid(key);
  }

  private isValid(key: SimpleKey): boolean {
    if (!key.possible) return false;
    const { line, index } = this.cursor;
    if (key.mark.line >= line && key.mark.index + MAX_KEY >= index) return true;
    if (key.required) this.cursor.fail("could not find expected ':'", key.mark);
    key.possible = false;
    return false;
  }

  private push(type: PlainType): void {
    this.tokens.push({ type, line: this.cursor.line });
  }

  private fetch(): void {
    const { cursor } = this;
    this.skipToToken();
    this.unroll(cursor.column);
    if (cursor.isEnd()) {
      this.endStream();
      return;
    }
    if (cursor.column === 0 && cursor.is('%')) {
      this.unroll(-1);
      this.removeKey();
      this.keyAllowed = false;
      const { line } = cursor;
      this.tokens.push({ type: 'directive', line, directive: scanDirective(cursor) });
    } else if (cursor.isDocumentIndicator('---')) this.fetchIndicator('document-start');
    else if (cursor.isDocumentIndicator('...')) this.fetchIndicator('document-end');
    else this.fetchContent(String.fromCharCode(cursor.at()));
  }

  private fetchContent(character: string): void {
    const { cursor, flowLevel } = this;
    const separated = flowLevel > 0 || cursor.isBlankOrEnd(1);
    switch (character) {
      case '[':
      case '{':
        this.beginFlow(character === '[' ? 'flow-sequence' : 'flow-mapping');
        return;
      case ']':
      case '}':
        this.endFlow(character === ']' ? 'flow-sequence-end' : 'flow-mapping-end');
        return;
      case ',':
        this.removeKey();
        this.keyAllowed = true;
        this.indicator('flow-entry');
        return;
      case '-':
        if (!cursor.isBlankOrEnd(1)) break;
        this.fetchEntry();
        return;
      case '?':
        if (!separated) break;
        this.fetchKey();
        return;
      case ':':
        if (!separated) break;
        this.fetchValue();
        return;
      case '|':
      case '>':
        if (flowLevel > 0) break;
        this.fetchBlockScalar(character === '|' ? 'literal' : 'folded');
        return;
      case '*':
      case '&':
      case '!':
      case "'":
      case '"':
        this.fetchProperty(character);
        return;
    }
    if (!this.beginsPlain(character)) cursor.fail('found character that cannot start any token', cursor.mark());
    this.saveKey();
    this.keyAllowed = false;
    const { line } = cursor;
    const { value, newLine } = scanPlain(cursor, flowLevel > 0 ? 'flow' : 'block', this.indent);
    if (newLine) this.keyAllowed = true;
    this.tokens.push({ type: 'scalar', line, value, plain: true });
  }

  private beginsPlain(character: string): boolean {
    const { cursor } = this;
    if (character === '-') return !cursor.isBlank(1);
    if (character === '?' || character === ':') return this.flowLevel === 0 && !cursor.isBlankOrEnd(1);
    return !cursor.isBlankOrEnd() && !',[]{}#&*!|>\'"%@`'.includes(character);
  }

  /** Skips blanks, comments, and line breaks. A tab is not allowed where it could be taken for indentation. */
  private skipToToken(): void {
    const { cursor } = this;
    for (;;) {
      while (cursor.is(' ') || ((this.flowLevel > 0 || !this.keyAllowed) && cursor.is('\t'))) cursor.skip();
      cursor.skipComment();
      if (!cursor.isBreak()) return;
      cursor.readLine();
      if (this.flowLevel === 0) this.keyAllowed = true;
    }
  }

  /** Records that a key may begin here. */
  private saveKey(): void {
    if (!this.keyAllowed) return;
    const { cursor } = this;
    const required = this.flowLevel === 0 && this.indent === cursor.column;
    const token = this.taken + this.tokens.length - this.head;
    this.removeKey();
    this.keys[this.keys.length - 1] = { possible: true, required, token, mark: cursor.mark() };
    this.levels.set(token, this.keys.length - 1);
  }

  /** Discards the possible key of this level. */
  private removeKey(): void {
    const key = this.keys[this.keys.length - 1];
    if (key?.possible !== true) return;
    if (key.required) this.cursor.fail("could not find expected ':'", key.mark);
    key.possible = false;
    this.levels.delete(key.token);
  }

  /** Opens a block collection if the column is further to the right than before. `at` is the token to insert it before. */
  private roll(column: number, at: number | undefined, type: 'block-sequence' | 'block-mapping', mark: Mark): void {
    if (this.flowLevel > 0 || this.indent >= column) return;
    this.indents.push(this.indent);
    this.indent = column;
    if (this.indents.length > MAX_DEPTH) this.tooDeep();
    this.insert(type, at, mark);
  }

  /** Opens a block collection at an indicator, unless one is open at this column. `items` are what the indicator begins. */
  private beginBlock(type: 'block-sequence' | 'block-mapping', items: string): void {
    if (this.flowLevel > 0) return;
    const mark = this.cursor.mark();
    if (!this.keyAllowed) this.cursor.fail(`${items} are not allowed in this context`, mark);
    this.roll(mark.column, undefined, type, mark);
  }

  private insert(type: PlainType, at: number | undefined, mark: Mark): void {
    const token: Token = { type, line: mark.line };
    if (at === undefined) this.tokens.push(token);
    else this.tokens.splice(this.head + at - this.taken, 0, token);
  }

  private tooDeep(): never {
    const { mark } = this.keys[this.keys.length - 1] ?? NO_KEY;
    return this.cursor.fail(`exceeded max depth of ${MAX_DEPTH}`, mark);
  }

  private unroll(column: number): void {
    if (this.flowLevel > 0) return;
    while (this.indent > column) {
      this.push('block-end');
      this.indent = this.indents.pop() ?? -1;
    }
  }

  private endStream(): void {
    this.cursor.endLine();
    this.unroll(-1);
    this.removeKey();
    this.keyAllowed = false;
    this.push('stream-end');
  }

  private fetchIndicator(type: 'document-start' | 'document-end'): void {
    this.unroll(-1);
    this.removeKey();
    this.keyAllowed = false;
    this.indicator(type, 3);
  }

  private indicator(type: PlainType, length = 1): void {
    this.push(type);
    this.cursor.skip(length);
  }

  private beginFlow(type: 'flow-sequence' | 'flow-mapping'): void {
    this.saveKey();
    this.keys.push({ ...NO_KEY, mark: this.cursor.mark() });
    if (++this.flowLevel > MAX_DEPTH) this.tooDeep();
    this.keyAllowed = true;
    this.indicator(type);
  }

  private endFlow(type: 'flow-sequence-end' | 'flow-mapping-end'): void {
    this.removeKey();
    if (this.flowLevel > 0) {
      this.flowLevel--;
      this.keys.pop();
    }
    this.keyAllowed = false;
    this.indicator(type);
  }

  private fetchEntry(): void {
    this.beginBlock('block-sequence', 'block sequence entries');
    this.removeKey();
    this.keyAllowed = true;
    this.indicator('block-entry');
  }

  private fetchKey(): void {
    this.beginBlock('block-mapping', 'mapping keys');
    this.removeKey();
    this.keyAllowed = this.flowLevel === 0;
    this.indicator('key');
  }

  private fetchValue(): void {
    const key = this.keys[this.keys.length - 1] as SimpleKey;
    if (this.isValid(key)) {
      this.insert('key', key.token, key.mark);
      this.roll(key.mark.column, key.token, 'block-mapping', key.mark);
      key.possible = false;
      this.levels.delete(key.token);
      this.keyAllowed = false;
    } else {
      this.beginBlock('block-mapping', 'mapping values');
      this.keyAllowed = this.flowLevel === 0;
    }
    this.indicator('value');
  }

  private fetchBlockScalar(style: BlockStyle): void {
    this.removeKey();
    this.keyAllowed = true;
    const { line } = this.cursor;
    this.tokens.push({ type: 'scalar', line, value: scanBlockScalar(this.cursor, style, this.indent), plain: false });
  }

  /** Reads a token that may begin a key and that no other key may follow. */
  private fetchProperty(character: '*' | '&' | '!' | "'" | '"'): void {
    this.saveKey();
    this.keyAllowed = false;
    const { cursor } = this;
    const { line } = cursor;
    if (character === '*') this.tokens.push({ type: 'alias', line, name: scanAnchor(cursor) });
    else if (character === '&') this.tokens.push({ type: 'anchor', line, name: scanAnchor(cursor) });
    else if (character === '!') this.tokens.push({ type: 'tag', line, tag: scanTag(cursor) });
    else this.tokens.push({ type: 'scalar', line, value: scanQuoted(cursor, character), plain: false });
  }
}
