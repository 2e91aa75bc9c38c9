import type { Expr, MapEntry, StructField } from '../ast.js';
import type { Issue } from '../source.js';
import { codePointLength } from '../values/text.js';
import type { Start } from './token-stream.js';
import {
  CALL_START,
  FIELD,
  FIELD_START,
  INDEX_START,
  ITEM_START,
  LIST_START,
  MAP_START,
  MEMBER,
  OPERAND,
  STRUCT_START,
  ParseAborted,
  TokenStream,
} from './token-stream.js';
import type { Token, TokenKind } from './lexer.js';
import { scalar } from './literals.js';
import type { Macros } from './macros.js';
import { PRODUCTS, RELATIONS, SUMS, MAX_DEPTH, TreeBuilder } from './tree-builder.js';

export interface ParserOptions {
  readonly macros: Macros;
  /** `a.?b`, `a[?k]`, `[?x]`, `{?k: v}` */
  readonly optionalSyntax: boolean;
  /** Allows field names in backticks. */
  readonly escapedFields: boolean;
}

export interface Parsed {
  readonly expr: Expr;
  readonly issues: readonly Issue[];
}

const MAX_CODE_POINTS = 100_000;

const RESERVED = new Set(
  (
    'as break const continue else false for function if import in let ' +
    'loop package namespace null return true var void while'
  ).split(' '),
);

const INVALID: Expr = { kind: 'invalid', offset: 0 };
const COLON = ["':'"];

/** A recursive descent parser for CEL expressions. */
export class Parser {
  private readonly issues: Issue[] = [];
  private readonly tokens: TokenStream;
  private readonly tree: TreeBuilder;
  /** The current nesting depth of each grammar rule. */
  private readonly depth = { expr: 0, relation: 0, calc: 0 };

  private constructor(
    source: string,
    private readonly options: ParserOptions,
  ) {
    this.tokens = new TokenStream(source, this.issues);
    this.tree = new TreeBuilder(options.macros, this.issues);
  }

  static parse(source: string, options: ParserOptions): Parsed {
    const size = source.length <= MAX_CODE_POINTS ? 0 : codePointLength(source);
    if (size > MAX_CODE_POINTS) {
      const message = `expression code point size exceeds limit: size: ${size}, limit ${MAX_CODE_POINTS}`;
      return { expr: INVALID, issues: [{ offset: -1, message }] };
    }
    return new Parser(source, options).parse();
  }

  private parse(): Parsed {
    try {
      const expr = this.expr();
      this.tokens.match('<EOF>', ['<EOF>']);
      return { expr, issues: this.issues };
    } catch (error) {
      if (error instanceof ParseAborted) return { expr: INVALID, issues: this.issues };
      throw error;
    }
  }

  private nested(rule: keyof Parser['depth']): void {
    if (++this.depth[rule] <= MAX_DEPTH) return;
    this.issues.push({ offset: -1, message: `expression recursion limit exceeded: ${MAX_DEPTH}` });
    throw new ParseAborted();
  }

  // --- operators

  private expr(): Expr {
    this.nested('expr');
    const condition = this.disjunction();
    let result = condition;
    if (this.tokens.is('?')) {
      const { offset } = this.tokens.advance();
      const yes = this.tokens.before(':', () => this.disjunction());
      if (this.tokens.match(':', COLON) === undefined) {
        this.tokens.skipUntil();
        this.depth.expr--;
        return { kind: 'invalid', offset };
      }
      result = this.tree.call(offset, '_?_:_', [condition, yes, this.expr()]);
    }
    this.depth.expr--;
    return result;
  }

  private disjunction(): Expr {
    return this.logical('||', '_||_', () => this.logical('&&', '_&&_', () => this.relation()));
  }

  /** Parses a chain of `&&` or `||` into a balanced tree, so that long chains do not nest deeply. */
  private logical(kind: TokenKind, name: string, operand: () => Expr): Expr {
    const first = operand();
    if (!this.tokens.is(kind)) return first;
    const terms = [first];
    const offsets: number[] = [];
    while (this.tokens.is(kind)) {
      offsets.push(this.tokens.advance().offset);
      terms.push(operand());
    }
    const tree = (from: number, to: number): Expr => {
      const middle = Math.floor((from + to + 1) / 2);
      const left = middle === from ? terms[middle] : tree(from, middle - 1);
      const right = middle === to ? terms[middle + 1] : tree(middle + 1, to);
      return this.tree.call(offsets[middle] ?? 0, name, [left ?? first, right ?? first]);
    };
    return tree(0, offsets.length - 1);
  }

  private relation(): Expr {
    return this.binary('relation', RELATIONS, () => this.sum());
  }

  private sum(): Expr {
    return this.binary('calc', SUMS, () => this.binary('calc', PRODUCTS, () => this.unary()));
  }

  private binary(rule: 'relation' | 'calc', operators: ReadonlyMap<TokenKind, string>, operand: () => Expr): Expr {
    // The grammar has one rule for sums and products: a sum counts as nesting when it is entered, a product only at each of its operators.
    if (operators !== PRODUCTS) this.nested(rule);
    let left = operand();
    for (;;) {
      const name = operators.get(this.tokens.token.kind);
      if (name === undefined) break;
      const { offset } = this.tokens.advance();
      this.nested(rule);
      const right = operand();
      this.depth[rule]--;
      left = this.tree.call(offset, name, [left, right]);
    }
    if (operators !== PRODUCTS) this.depth[rule]--;
    return left;
  }

  private unary(): Expr {
    const { tokens } = this;
    const { offset } = tokens.token;
    if (tokens.is('!')) {
      const count = this.signs('!');
      if (!tokens.operandAfterNot()) return { kind: 'invalid', offset };
      const operand = this.negatable();
      return count % 2 === 0 ? operand : this.tree.call(offset, '!_', [operand]);
    }
    if (!tokens.is('-') || this.isNumber()) return this.member();
    const count = this.signs('-');
    // A minus sign that belongs to a literal counts as one more of the signs before it.
    const joined = count > 0 && tokens.is('-') && this.isNumber() ? 1 : 0;
    if (joined === 1) tokens.advance();
    const operand = this.negatable();
    return (count + joined) % 2 === 0 ? operand : this.tree.call(offset, '-_', [operand]);
  }

  /** Reports whether the current minus sign belongs to a numeric literal. */
  private isNumber(): boolean {
    const next = this.tokens.peek();
    return next === 'NUM_INT' || next === 'NUM_FLOAT';
  }

  /** Consumes a run of signs and returns how many there were. A minus sign is consumed only if it can negate what follows. */
  private signs(kind: '!' | '-'): number {
    const { tokens } = this;
    let count = 0;
    while (tokens.is(kind)) {
      const next = tokens.peek();
      if (kind === '-' && ((count > 0 && this.isNumber()) || !(next === '-' || MEMBER.has(next)))) break;
      tokens.advance();
      count++;
    }
    return count;
  }

  /** Parses the operand of a run of signs. It takes no further sign, except the minus sign of a literal. */
  private negatable(): Expr {
    if (!this.tokens.is('-') || this.isNumber()) return this.member();
    this.tokens.noViableNext();
    return { kind: 'invalid', offset: this.tokens.token.offset };
  }

  // --- operands

  private member(): Expr {
    let result = this.primary();
    for (;;) {
      const { kind } = this.tokens.token;
      if (kind === '.') result = this.selection(result);
      else if (kind === '[') result = this.index(result);
      else break;
    }
    return result;
  }

  private selection(operand: Expr): Expr {
    const next = this.tokens.peek();
    if (next !== 'IDENTIFIER' && next !== 'ESC_IDENTIFIER' && next !== '?') {
      this.tokens.noViableMember();
      // cel-go goes on with what stands before the point, which macros look at.
      return operand;
    }
    const { offset } = this.tokens.advance();
    const optional = this.tokens.is('?');
    if (optional) this.tokens.advance();
    const name = this.tokens.token;
    if (name.kind !== 'IDENTIFIER' && name.kind !== 'ESC_IDENTIFIER') {
      this.tokens.match('IDENTIFIER', FIELD);
      return this.tree.error(name.offset, 'unsupported ident kind');
    }
    this.tokens.advance();
    const field = this.fieldName(name);
    if (optional) {
      if (!this.options.optionalSyntax) return this.tree.error(offset, "unsupported syntax '.?'");
      const literal: Expr = { kind: 'literal', offset: name.offset, value: field };
      const call: Expr = { kind: 'call', offset, name: '_?._', target: undefined, args: [operand, literal] };
      return this.tree.grow(call, [operand], 1);
    }
    if (this.tokens.is('(') && name.kind === 'IDENTIFIER') {
      const open = this.tokens.token.offset;
      return this.tree.call(open, field, this.callArguments(), operand);
    }
    return this.tree.grow({ kind: 'select', offset, operand, field, test: false }, [operand], 1);
  }

  private fieldName(token: Token): string {
    if (token.kind === 'IDENTIFIER') return token.text;
    if (!this.options.escapedFields) this.issues.push({ offset: token.offset, message: "unsupported syntax: '`'" });
    return token.text.slice(1, -1);
  }

  private index(operand: Expr): Expr {
    const { offset } = this.tokens.advance();
    const optional = this.tokens.is('?');
    if (optional) this.tokens.advance();
    const start = optional ? OPERAND : INDEX_START;
    const index = this.tokens.within(']', () => (this.tokens.operandAhead(start) ? this.expr() : INVALID));
    if (optional && !this.options.optionalSyntax) return this.tree.error(offset, "unsupported syntax '[?'");
    return this.tree.call(offset, optional ? '_[?_]' : '_[_]', [operand, index]);
  }

  private callArguments(): Expr[] {
    this.tokens.advance();
    return this.tokens.within(')', () => {
      if (!this.tokens.operandAhead(CALL_START)) return [];
      if (this.tokens.is(')')) return [];
      const args = [this.expr()];
      while (this.tokens.is(',')) {
        this.tokens.advance();
        args.push(this.expr());
      }
      return args;
    });
  }

  private primary(): Expr {
    if (!this.tokens.operandAhead(OPERAND)) return { kind: 'invalid', offset: this.tokens.token.offset };
    const token = this.tokens.token;
    switch (token.kind) {
      case '(':
        this.tokens.advance();
        return this.tokens.within(')', () => this.expr());
      case '[':
        return this.list();
      case '{':
        return this.map();
      case '.':
      case 'IDENTIFIER':
        return this.name();
      default:
        return scalar(this.tokens, this.tree);
    }
  }

  /** Parses an identifier, a function call, or a message literal. */
  private name(): Expr {
    let prefix = '';
    if (this.tokens.is('.')) {
      const next = this.tokens.peek();
      if (next !== 'IDENTIFIER') {
        if (next === '?') this.tokens.noViableNext();
        else this.tokens.noViableMember();
        return { kind: 'invalid', offset: this.tokens.token.offset };
      }
      this.tokens.advance();
      prefix = '.';
    }
    const struct = this.tokens.structName();
    if (struct !== undefined) return this.struct(prefix + struct);
    const token = this.tokens.advance();
    if (RESERVED.has(token.text)) {
      if (this.tokens.is('(')) this.callArguments();
      return this.tree.error(token.offset - prefix.length, `reserved identifier: ${token.text}`);
    }
    if (!this.tokens.is('(')) return { kind: 'ident', offset: token.offset, name: prefix + token.text };
    const { offset } = this.tokens.token;
    return this.tree.call(offset, prefix + token.text, this.callArguments());
  }

  private optionalMark(): boolean {
    if (!this.tokens.is('?')) return false;
    const { offset } = this.tokens.advance();
    if (!this.options.optionalSyntax) this.issues.push({ offset, message: "unsupported syntax '?'" });
    return true;
  }

  /** Parses the comma-separated items of a list, map or struct literal up to its closing token. A trailing comma is allowed. */
  private sequence(close: TokenKind, start: Start, itemStart: Start, item: () => boolean): void {
    const { tokens } = this;
    tokens.within(close, () => {
      if (!tokens.operandAhead(start)) return;
      if (!tokens.is(close) && !tokens.is(',')) this.items(close, itemStart, item);
      if (tokens.is(',')) tokens.advance();
    });
  }

  /** Parses items up to the closing token, or up to a comma that no item follows. */
  private items(close: TokenKind, itemStart: Start, item: () => boolean): void {
    const { tokens } = this;
    for (;;) {
      if (!item() || !tokens.atSeparator(close)) {
        tokens.skipUntil(',');
        return;
      }
      if (!tokens.is(',') || !itemStart.has(tokens.peek())) return;
      tokens.advance();
    }
  }

  private list(): Expr {
    const { offset } = this.tokens.advance();
    const elements: Expr[] = [];
    const optional = new Set<number>();
    this.sequence(']', LIST_START, ITEM_START, () => {
      if (this.optionalMark()) optional.add(elements.length);
      elements.push(this.expr());
      return true;
    });
    return this.tree.grow({ kind: 'list', offset, elements, optional, synthetic: false }, elements, 0);
  }

  private map(): Expr {
    const { offset } = this.tokens.advance();
    const entries: MapEntry[] = [];
    this.sequence('}', MAP_START, ITEM_START, () => {
      const optional = this.optionalMark();
      const key = this.tokens.before(':', () => this.expr());
      const colon = this.tokens.match(':', COLON);
      if (colon === undefined) return false;
      entries.push({ offset: colon.offset, key, value: this.expr(), optional });
      return true;
    });
    const parts = entries.flatMap(({ key, value }) => [key, value]);
    return this.tree.grow({ kind: 'map', offset, entries }, parts, 0);
  }

  private struct(name: string): Expr {
    const { offset } = this.tokens.advance();
    const fields: StructField[] = [];
    this.sequence('}', STRUCT_START, FIELD_START, () => {
      const optional = this.optionalMark();
      const { token } = this.tokens;
      if (token.kind !== 'IDENTIFIER' && token.kind !== 'ESC_IDENTIFIER') {
        this.tokens.match('IDENTIFIER', FIELD);
        return false;
      }
      this.tokens.advance();
      const field = this.fieldName(token);
      const colon = this.tokens.match(':', COLON);
      if (colon === undefined) return false;
      fields.push({ offset: colon.offset, name: field, value: this.expr(), optional });
      return true;
    });
    const parts = fields.map(({ value }) => value);
    return this.tree.grow({ kind: 'struct', offset, name, fields }, parts, 0);
  }
}
