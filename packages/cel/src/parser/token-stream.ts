import { Lexer, type Token, type TokenKind } from './lexer.js';
import type { Issue } from '../source.js';

/** The tokens that are valid at a position, as error messages list them. */
export type Expected = readonly string[];

/** All tokens that can be expected, in the order in which error messages list them. */
const ORDER: readonly TokenKind[] = [
  '[',
  ']',
  '{',
  '}',
  '(',
  ')',
  '.',
  ',',
  '-',
  '!',
  '?',
  'true',
  'false',
  'null',
  'NUM_FLOAT',
  'NUM_INT',
  'NUM_UINT',
  'STRING',
  'BYTES',
  'IDENTIFIER',
  'ESC_IDENTIFIER',
];

/** The tokens that may start a construct, and how error messages list them. */
export class Start {
  private readonly kinds: ReadonlySet<TokenKind>;
  readonly expected: Expected;

  constructor(kinds: readonly TokenKind[]) {
    this.kinds = new Set(kinds);
    this.expected = ORDER.filter((kind) => this.kinds.has(kind)).map(quotedKind);
  }

  has(kind: TokenKind): boolean {
    return this.kinds.has(kind);
  }
}

/** Quotes punctuation and keywords, but not token classes. */
function quotedKind(kind: TokenKind): string {
  return /^[A-Z]/.test(kind) ? kind : `'${kind}'`;
}

const NOT_OPERANDS: ReadonlySet<TokenKind> = new Set([']', '}', ')', ',', '?', 'ESC_IDENTIFIER']);
const operands = ORDER.filter((kind) => !NOT_OPERANDS.has(kind));

export const OPERAND = new Start(operands);
/** The tokens that may follow a minus sign that does not negate a number. */
export const MEMBER = new Start(operands.filter((kind) => kind !== '-' && kind !== '!'));
export const INDEX_START = new Start([...operands, '?']);
/** The start of a list element or of a map key. */
export const ITEM_START = INDEX_START;
export const CALL_START = new Start([...operands, ')']);
export const LIST_START = new Start([...operands, ']', ',', '?']);
export const MAP_START = new Start([...operands, '}', ',', '?']);
export const STRUCT_START = new Start(['}', ',', '?', 'IDENTIFIER', 'ESC_IDENTIFIER']);
export const FIELD_START = new Start(['?', 'IDENTIFIER', 'ESC_IDENTIFIER']);
export const FIELD: Expected = new Start(['IDENTIFIER', 'ESC_IDENTIFIER']).expected;

const MAX_RECOVERIES = 30;

const OPERATORS = new Set<TokenKind>([
  '==',
  '!=',
  '<',
  '<=',
  '>=',
  '>',
  'in',
  '+',
  '-',
  '*',
  '/',
  '%',
  '&&',
  '||',
  '?',
  '[',
  '.',
]);
/** Aborts parsing because error recovery is not possible. The issues say why. */
export class ParseAborted extends Error {}

const describe = (expected: Expected): string =>
  expected.length === 1 ? (expected[0] ?? '') : `{${expected.join(', ')}}`;

/**
 * The tokens of an expression, with error recovery. Recovery follows ANTLR's default strategy, so that the same
 * subsequent errors are reported: a single unexpected token is skipped, a missing one is assumed, and no error is
 * reported until a token has matched again.
 */
export class TokenStream {
  private readonly tokens: readonly Token[];
  private at = 0;
  private recovering = false;
  private recoveries = 0;
  /** The position of the operator at which an abandoned bracketed conditional ended; it is parsed as if it followed the brackets. */
  private operatorAt = -1;
  /** The tokens that the enclosing constructs expect next. */
  private readonly followKinds: TokenKind[] = [];

  constructor(
    private readonly source: string,
    private readonly issues: Issue[],
  ) {
    this.tokens = new Lexer(source, issues).run();
  }

  get token(): Token {
    return this.tokens[this.at] ?? { kind: '<EOF>', text: '<EOF>', offset: this.source.length };
  }

  is(kind: TokenKind): boolean {
    return this.token.kind === kind;
  }

  /** The kind of the token after the current one. */
  peek(): TokenKind {
    return this.tokens[this.at + 1]?.kind ?? '<EOF>';
  }

  advance(): Token {
    const token = this.token;
    if (token.kind !== '<EOF>') this.at++;
    this.recovering = false;
    return token;
  }

  private syntaxError(message: string): void {
    if (this.recovering) return;
    this.recovering = true;
    this.issues.push({ offset: this.token.offset, message: `Syntax error: ${message}` });
  }

  private recover(): void {
    if (this.recoveries++ < MAX_RECOVERIES) return;
    this.issues.push({
      offset: this.token.offset,
      message: `Syntax error: error recovery attempt limit exceeded: ${MAX_RECOVERIES}`,
    });
    throw new ParseAborted();
  }

  /** Consumes a token of the given kind, or recovers if it is missing. Returns undefined if recovery failed. */
  match(kind: TokenKind, expected: Expected): Token | undefined {
    if (this.token.kind === kind) return this.advance();
    this.recover();
    const text = this.token.text;
    if (this.peek() === kind && this.token.kind !== '<EOF>') {
      this.syntaxError(`extraneous input '${text}' expecting ${describe(expected)}`);
      this.at++;
      return this.advance();
    }
    const insertable = kind === ')' || kind === ']' || kind === '}';
    if (insertable && this.canFollow()) {
      this.syntaxError(`missing '${kind}' at '${text}'`);
      return undefined;
    }
    if (kind === ':' && OPERAND.has(this.token.kind)) {
      this.syntaxError(`missing '${kind}' at '${text}'`);
      return { kind, text: ':', offset: this.token.offset };
    }
    this.syntaxError(`mismatched input '${text}' expecting ${describe(expected)}`);
    if (kind === ':') this.skipConditional();
    else this.skipTo();
    return undefined;
  }

  /** Reports whether the current token could follow a missing closing bracket. */
  private canFollow(): boolean {
    if (this.token.kind === '<EOF>') return !this.followKinds.includes(':');
    return OPERATORS.has(this.token.kind) || this.isInFollowSet();
  }

  /** Skips the rest of a conditional that has no `:`. Inside brackets, which an operator may follow, it stops at the next operator. */
  private skipConditional(): void {
    const bracketed = this.followKinds.some((kind) => kind !== ':');
    this.skipUntil(',', ...(bracketed ? OPERATORS : []));
    if (OPERATORS.has(this.token.kind)) this.operatorAt = this.at;
  }

  /** Skips to a token of one of the given kinds, or to one that an enclosing construct expects. */
  skipUntil(...kinds: readonly TokenKind[]): void {
    if (this.at === this.operatorAt) return;
    while (!kinds.includes(this.token.kind) && !this.isInFollowSet()) this.at++;
  }

  /** Reports whether the current token separates or ends the items of a list. A single unexpected token before it is skipped. */
  atSeparator(close: TokenKind): boolean {
    if (this.is(',') || this.is(close)) return true;
    this.recover();
    const expected = describe([`'${close}'`, "','"]);
    const next = this.peek();
    if (this.token.kind !== '<EOF>' && (next === ',' || next === close)) {
      this.syntaxError(`extraneous input '${this.token.text}' expecting ${expected}`);
      this.at++;
      return true;
    }
    this.syntaxError(`mismatched input '${this.token.text}' expecting ${expected}`);
    return false;
  }

  /** Reports whether an operand follows the `!` signs already consumed. */
  operandAfterNot(): boolean {
    if (OPERAND.has(this.token.kind)) return true;
    this.recover();
    this.syntaxError(`extraneous input '${this.token.text}' expecting ${describe(OPERAND.expected)}`);
    while (this.token.kind !== '<EOF>' && !OPERAND.has(this.token.kind) && !this.isInFollowSet()) this.at++;
    return OPERAND.has(this.token.kind);
  }

  /**
   * Reports a sign or a dot that cannot stand before the next token. The token is not consumed: the caller goes on to parse it as an operator
   * or as the start of a member access.
   */
  noViableNext(): void {
    const next = this.tokens[this.at + 1];
    this.recover();
    if (this.recovering) return;
    this.recovering = true;
    const message = `Syntax error: no viable alternative at input '${this.textTo(next)}'`;
    this.issues.push({ offset: next?.offset ?? this.source.length, message });
  }

  /** Returns the source from the current token to `last`, without text that was not recognized as a token. */
  private textTo(last: Token | undefined): string {
    const { text, offset } = this.token;
    const end = last === undefined || last.kind === '<EOF>' ? this.source.length : last.offset;
    const between = this.source.slice(offset + text.length, end).match(/\s+|\/\/[^\n]*/g) ?? [];
    return text + between.join('') + (last === undefined || last.kind === '<EOF>' ? '' : last.text);
  }

  private isInFollowSet(): boolean {
    return this.token.kind === '<EOF>' || this.followKinds.includes(this.token.kind);
  }

  private skipTo(): void {
    while (!OPERATORS.has(this.token.kind) && !this.isInFollowSet()) this.at++;
  }

  /** Reports whether an operand starts at the current token. A single unexpected token before it is skipped. */
  operandAhead(start: Start): boolean {
    if (start.has(this.token.kind)) return true;
    this.recover();
    const text = this.token.text;
    if (this.token.kind !== '<EOF>' && start.has(this.peek())) {
      this.syntaxError(`extraneous input '${text}' expecting ${describe(start.expected)}`);
      this.at++;
      this.recovering = false;
      return true;
    }
    this.syntaxError(`mismatched input '${text}' expecting ${describe(start.expected)}`);
    this.skipTo();
    return false;
  }

  /** Parses up to a closing token, at which error recovery inside `parse` stops. */
  before<T>(close: TokenKind, parse: () => T): T {
    this.followKinds.push(close);
    const result = parse();
    this.followKinds.pop();
    return result;
  }

  /** Parses the content of brackets, including the closing one. */
  within<T>(close: TokenKind, parse: () => T): T {
    const result = this.before(close, parse);
    this.match(close, [`'${close}'`]);
    return result;
  }

  /** Reports a dot that no member follows, and skips past it. */
  noViableMember(): void {
    const next = this.peek();
    const input = this.textTo(this.tokens[this.at + 1]);
    this.recover();
    this.at++;
    // cel-go rewrites the message for these three, if nothing stands between the dot and the word.
    if (input === '.true' || input === '.false' || input === '.null') {
      this.syntaxError(`mismatched input '${next}' expecting IDENTIFIER`);
    } else {
      this.syntaxError(`no viable alternative at input '${input}'`);
    }
    this.skipTo();
    if (this.token.kind === '.' && this.peek() === next) this.at++;
  }

  /** Consumes the dotted name before a brace. Returns undefined, and consumes nothing, if no brace follows. */
  structName(): string | undefined {
    let end = this.at;
    while (this.tokens[end + 1]?.kind === '.' && this.tokens[end + 2]?.kind === 'IDENTIFIER') end += 2;
    if (this.tokens[end + 1]?.kind !== '{') return undefined;
    const name = this.tokens.slice(this.at, end + 1).map((token) => token.text);
    this.at = end + 1;
    return name.join('');
  }
}
