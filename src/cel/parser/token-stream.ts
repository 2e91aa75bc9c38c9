import type { Expected, Start } from './expectations.js';
import type { Issue } from '../source.js';
import type { Token, TokenKind } from './lexer.js';
import { Lexer } from './lexer.js';

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
/** Nothing sensible can follow: the issues say why. */
export class GiveUp extends Error {}

const describe = (expected: Expected): string =>
  expected.length === 1 ? (expected[0] ?? '') : `{${expected.join(', ')}}`;

/**
 * The tokens of an expression and what is wrong with them. After an error it goes on the way ANTLR's default strategy
 * does, so that the same further errors come out: a lone wrong token is skipped, a missing one imagined, and no error is
 * reported until a token has matched again.
 */
export class TokenStream {
  private readonly tokens: readonly Token[];
  private at = 0;
  private recovering = false;
  private recoveries = 0;
  /** Tokens that an enclosing construct waits for. */
  private readonly awaited: TokenKind[] = [];

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
    throw new GiveUp();
  }

  /** Takes the token of that kind, or mends its absence; undefined if it could not. */
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
    if (insertable && (OPERATORS.has(this.token.kind) || this.isAwaited())) {
      this.syntaxError(`missing '${kind}' at '${text}'`);
      return undefined;
    }
    this.syntaxError(`mismatched input '${text}' expecting ${describe(expected)}`);
    this.skipTo();
    return undefined;
  }

  private isAwaited(): boolean {
    return this.token.kind === '<EOF>' || this.awaited.includes(this.token.kind);
  }

  private skipTo(): void {
    while (!OPERATORS.has(this.token.kind) && !this.isAwaited()) this.at++;
  }

  /** Whether an operand starts here, possibly behind one token too many. */
  operandAhead(start: Start): boolean {
    if (start.has(this.token.kind)) return true;
    this.recover();
    const text = this.token.text;
    if (this.token.kind !== '<EOF>' && start.has(this.peek())) {
      this.syntaxError(`extraneous input '${text}' expecting ${describe(start.expected)}`);
      this.at++;
      return true;
    }
    this.syntaxError(`mismatched input '${text}' expecting ${describe(start.expected)}`);
    this.skipTo();
    return false;
  }

  /** Parses what stands before a token; after an error, that token is looked for. */
  before<T>(close: TokenKind, parse: () => T): T {
    this.awaited.push(close);
    const result = parse();
    this.awaited.pop();
    return result;
  }

  /** Parses what stands between brackets. */
  within<T>(close: TokenKind, parse: () => T): T {
    const result = this.before(close, parse);
    this.match(close, [`'${close}'`]);
    return result;
  }

  /** A dot is followed by something that is no member: reports it and goes on behind it. */
  noViableMember(): void {
    const next = this.peek();
    const token = this.tokens[this.at + 1];
    this.recover();
    this.at++;
    if (next === 'true' || next === 'false' || next === 'null') {
      this.syntaxError(`mismatched input '${next}' expecting IDENTIFIER`);
    } else {
      const text = next === '<EOF>' ? '' : (token?.text ?? '');
      this.syntaxError(`no viable alternative at input '.${text}'`);
    }
    this.skipTo();
    if (this.token.kind === '.' && this.peek() === next) this.at++;
  }

  /** The dotted name before a brace, all of its tokens taken; undefined if no brace follows. */
  structName(): string | undefined {
    let end = this.at;
    while (this.tokens[end + 1]?.kind === '.' && this.tokens[end + 2]?.kind === 'IDENTIFIER') end += 2;
    if (this.tokens[end + 1]?.kind !== '{') return undefined;
    const name = this.tokens.slice(this.at, end + 1).map((token) => token.text);
    this.at = end + 1;
    return name.join('');
  }
}
