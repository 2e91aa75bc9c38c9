import type { Expr, MapEntry, StructField } from '../ast.js';
import type { Issue } from '../source.js';
import { Uint, Double } from '../values/value.js';
import { integer } from '../values/integer.js';
import type { Token, TokenKind } from './lexer.js';
import { Lexer } from './lexer.js';
import type { Macros } from './macros.js';
import { MacroError, macroKey } from './macros.js';
import { LiteralError, unquoteBytes, unquoteString } from './unescape.js';

export interface ParserOptions {
  readonly macros: Macros;
  /** `a.?b`, `a[?k]`, `[?x]`, `{?k: v}` */
  readonly optionalSyntax: boolean;
  /** Fields in backticks. */
  readonly escapedFields: boolean;
}

export interface Parsed {
  readonly expr: Expr;
  readonly issues: readonly Issue[];
}

const MAX_CODE_POINTS = 100_000;
/** Bound on nesting, counted per grammar rule. */
const MAX_DEPTH = 250;
const MAX_RECOVERIES = 30;

const RESERVED = new Set([
  'as',
  'break',
  'const',
  'continue',
  'else',
  'false',
  'for',
  'function',
  'if',
  'import',
  'in',
  'let',
  'loop',
  'package',
  'namespace',
  'null',
  'return',
  'true',
  'var',
  'void',
  'while',
]);

type Expected = readonly string[];
const OPERAND: Expected = [
  "'['",
  "'{'",
  "'('",
  "'.'",
  "'-'",
  "'!'",
  "'true'",
  "'false'",
  "'null'",
  'NUM_FLOAT',
  'NUM_INT',
  'NUM_UINT',
  'STRING',
  'BYTES',
  'IDENTIFIER',
];
const LIST_START: Expected = [
  "'['",
  "']'",
  "'{'",
  "'('",
  "'.'",
  "','",
  "'-'",
  "'!'",
  "'?'",
  "'true'",
  "'false'",
  "'null'",
  'NUM_FLOAT',
  'NUM_INT',
  'NUM_UINT',
  'STRING',
  'BYTES',
  'IDENTIFIER',
];
const MAP_START: Expected = [
  "'['",
  "'{'",
  "'}'",
  "'('",
  "'.'",
  "','",
  "'-'",
  "'!'",
  "'?'",
  "'true'",
  "'false'",
  "'null'",
  'NUM_FLOAT',
  'NUM_INT',
  'NUM_UINT',
  'STRING',
  'BYTES',
  'IDENTIFIER',
];
const CALL_START: Expected = [
  "'['",
  "'{'",
  "'('",
  "')'",
  "'.'",
  "'-'",
  "'!'",
  "'true'",
  "'false'",
  "'null'",
  'NUM_FLOAT',
  'NUM_INT',
  'NUM_UINT',
  'STRING',
  'BYTES',
  'IDENTIFIER',
];
const STRUCT_START: Expected = ["'}'", "','", "'?'", 'IDENTIFIER', 'ESC_IDENTIFIER'];
const FIELD: Expected = ['IDENTIFIER', 'ESC_IDENTIFIER'];

const STARTS = new Set<TokenKind>([
  '[',
  '{',
  '(',
  '.',
  '-',
  '!',
  'true',
  'false',
  'null',
  'NUM_FLOAT',
  'NUM_INT',
  'NUM_UINT',
  'STRING',
  'BYTES',
  'IDENTIFIER',
]);
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
const RELATIONS = new Map<TokenKind, string>([
  ['==', '_==_'],
  ['!=', '_!=_'],
  ['<', '_<_'],
  ['<=', '_<=_'],
  ['>=', '_>=_'],
  ['>', '_>_'],
  ['in', '@in'],
]);
const SUMS = new Map<TokenKind, string>([
  ['+', '_+_'],
  ['-', '_-_'],
]);
const PRODUCTS = new Map<TokenKind, string>([
  ['*', '_*_'],
  ['/', '_/_'],
  ['%', '_%_'],
]);

/** Calls that count as a level of nesting. */
const NESTING = new Set([...RELATIONS.values(), ...SUMS.values(), ...PRODUCTS.values(), '_?_:_', '_[_]', '_[?_]']);

/** Nothing sensible can follow: the issues say why. */
class GiveUp extends Error {}

const describe = (expected: Expected): string =>
  expected.length === 1 ? (expected[0] ?? '') : `{${expected.join(', ')}}`;

/**
 * Recursive descent over the tokens. After an error it goes on the way ANTLR's default strategy does, so that
 * the same further errors come out: a lone wrong token is skipped, a missing one imagined, and no error is
 * reported until a token has matched again.
 */
export class Parser {
  private readonly issues: Issue[] = [];
  private tokens: readonly Token[] = [];
  private at = 0;
  private recovering = false;
  private recoveries = 0;
  /** Rules being parsed, by name. */
  private readonly depth = { expr: 0, relation: 0, calc: 0 };
  /** How deep operators and selections nest in what has been parsed; nothing is noted for 0. */
  private readonly heights = new Map<Expr, number>();
  /** Tokens that an enclosing construct waits for. */
  private readonly awaited: TokenKind[] = [];

  constructor(
    private readonly source: string,
    private readonly options: ParserOptions,
  ) {}

  parse(): Parsed {
    const invalid: Expr = { kind: 'invalid', offset: 0 };
    const size = this.source.length <= MAX_CODE_POINTS ? 0 : Array.from(this.source).length;
    if (size > MAX_CODE_POINTS) {
      const message = `expression code point size exceeds limit: size: ${size}, limit ${MAX_CODE_POINTS}`;
      return { expr: invalid, issues: [{ offset: -1, message }] };
    }
    this.tokens = new Lexer(this.source, this.issues).run();
    try {
      const expr = this.expr();
      this.match('<EOF>', ['<EOF>']);
      return { expr, issues: this.issues };
    } catch (error) {
      if (error instanceof GiveUp) return { expr: invalid, issues: this.issues };
      throw error;
    }
  }

  // --- tokens and errors

  private get token(): Token {
    return this.tokens[this.at] ?? { kind: '<EOF>', text: '<EOF>', offset: this.source.length };
  }

  private is(kind: TokenKind): boolean {
    return this.token.kind === kind;
  }

  private peek(): TokenKind {
    return this.tokens[this.at + 1]?.kind ?? '<EOF>';
  }

  private advance(): Token {
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

  private error(offset: number, message: string): Expr {
    this.issues.push({ offset, message });
    return { kind: 'invalid', offset };
  }

  private nested(rule: keyof Parser['depth']): void {
    if (++this.depth[rule] <= MAX_DEPTH) return;
    this.issues.push({ offset: -1, message: `expression recursion limit exceeded: ${MAX_DEPTH}` });
    throw new GiveUp();
  }

  /** Takes the token of that kind, or mends its absence; undefined if it could not. */
  private match(kind: TokenKind, expected: Expected): Token | undefined {
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
  private operandAhead(starts: (kind: TokenKind) => boolean, expected: Expected): boolean {
    if (starts(this.token.kind)) return true;
    this.recover();
    const text = this.token.text;
    if (this.token.kind !== '<EOF>' && starts(this.peek())) {
      this.syntaxError(`extraneous input '${text}' expecting ${describe(expected)}`);
      this.at++;
      return true;
    }
    this.syntaxError(`mismatched input '${text}' expecting ${describe(expected)}`);
    this.skipTo();
    return false;
  }

  /** Parses what stands between brackets. */
  private within<T>(close: TokenKind, parse: () => T): T {
    this.awaited.push(close);
    const result = parse();
    this.awaited.pop();
    this.match(close, [`'${close}'`]);
    return result;
  }

  // --- operators

  private expr(): Expr {
    this.nested('expr');
    const condition = this.logical('||', '_||_', () => this.logical('&&', '_&&_', () => this.relation()));
    let result = condition;
    if (this.token.kind === '?') {
      const { offset } = this.advance();
      this.awaited.push(':');
      const yes = this.logical('||', '_||_', () => this.logical('&&', '_&&_', () => this.relation()));
      this.awaited.pop();
      this.match(':', ["':'"]);
      result = this.call(offset, '_?_:_', [condition, yes, this.expr()]);
    }
    this.depth.expr--;
    return result;
  }

  /** A chain of && or || becomes a balanced tree, so that long chains do not nest deeply. */
  private logical(kind: TokenKind, name: string, operand: () => Expr): Expr {
    const first = operand();
    if (this.token.kind !== kind) return first;
    const terms = [first];
    const offsets: number[] = [];
    while (this.token.kind === kind) {
      offsets.push(this.advance().offset);
      terms.push(operand());
    }
    const tree = (from: number, to: number): Expr => {
      const middle = Math.floor((from + to + 1) / 2);
      const left = middle === from ? terms[middle] : tree(from, middle - 1);
      const right = middle === to ? terms[middle + 1] : tree(middle + 1, to);
      return this.call(offsets[middle] ?? 0, name, [left ?? first, right ?? first]);
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
    // Sums are entered through one rule, products count where they occur.
    if (operators !== PRODUCTS) {
      this.nested(rule);
    }
    let left = operand();
    for (;;) {
      const name = operators.get(this.token.kind);
      if (name === undefined) break;
      const { offset } = this.advance();
      this.nested(rule);
      const right = operand();
      this.depth[rule]--;
      left = this.call(offset, name, [left, right]);
    }
    if (operators !== PRODUCTS) this.depth[rule]--;
    return left;
  }

  private unary(): Expr {
    const kind = this.token.kind;
    if (kind === '!' || (kind === '-' && this.peek() !== 'NUM_INT' && this.peek() !== 'NUM_FLOAT')) {
      const { offset } = this.token;
      let count = 0;
      while (this.token.kind === kind) {
        if (kind === '-' && count > 0 && (this.peek() === 'NUM_INT' || this.peek() === 'NUM_FLOAT')) break;
        this.advance();
        count++;
      }
      // The sign of a literal joins the row of minus signs before it.
      if (kind === '-' && this.token.kind === '-') {
        this.advance();
        count++;
      }
      const operand = this.member();
      return count % 2 === 0 ? operand : this.call(offset, kind === '!' ? '!_' : '-_', [operand]);
    }
    return this.member();
  }

  // --- operands

  private member(): Expr {
    let result = this.primary();
    for (;;) {
      const { kind } = this.token;
      if (kind === '.') result = this.selection(result);
      else if (kind === '[') result = this.index(result);
      else break;
    }
    return result;
  }

  private selection(operand: Expr): Expr {
    const next = this.peek();
    if (next !== 'IDENTIFIER' && next !== 'ESC_IDENTIFIER' && next !== '?') {
      this.noViableMember(next);
      return { kind: 'invalid', offset: this.token.offset };
    }
    const { offset } = this.advance();
    const optional = this.token.kind === '?';
    if (optional) this.advance();
    const name = this.token;
    if (name.kind !== 'IDENTIFIER' && name.kind !== 'ESC_IDENTIFIER') {
      this.match('IDENTIFIER', FIELD);
      return { kind: 'invalid', offset };
    }
    this.advance();
    const field = this.fieldName(name);
    if (optional) {
      if (!this.options.optionalSyntax) return this.error(offset, "unsupported syntax '.?'");
      const literal: Expr = { kind: 'literal', offset: name.offset, value: field };
      const call: Expr = { kind: 'call', offset, name: '_?._', target: undefined, args: [operand, literal] };
      return this.grow(call, [operand], 1);
    }
    if (this.token.kind === '(' && name.kind === 'IDENTIFIER') {
      const open = this.token.offset;
      return this.call(open, field, this.callArguments(), operand);
    }
    return this.grow({ kind: 'select', offset, operand, field, test: false }, [operand], 1);
  }

  private noViableMember(next: TokenKind): void {
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

  private fieldName(token: Token): string {
    if (token.kind === 'IDENTIFIER') return token.text;
    if (!this.options.escapedFields) this.issues.push({ offset: token.offset, message: "unsupported syntax: '`'" });
    return token.text.slice(1, -1);
  }

  private index(operand: Expr): Expr {
    const { offset } = this.advance();
    const optional = this.token.kind === '?';
    if (optional) this.advance();
    const index = this.within(']', () => this.expr());
    if (optional && !this.options.optionalSyntax) return this.error(offset, "unsupported syntax '[?'");
    return this.call(offset, optional ? '_[?_]' : '_[_]', [operand, index]);
  }

  private callArguments(): Expr[] {
    this.advance();
    return this.within(')', () => {
      if (!this.operandAhead((kind) => STARTS.has(kind) || kind === ')', CALL_START)) return [];
      if (this.is(')')) return [];
      const args = [this.expr()];
      while (this.token.kind === ',') {
        this.advance();
        args.push(this.expr());
      }
      return args;
    });
  }

  private primary(): Expr {
    if (!this.operandAhead((kind) => STARTS.has(kind), OPERAND)) return { kind: 'invalid', offset: this.token.offset };
    const token = this.token;
    switch (token.kind) {
      case '(':
        this.advance();
        return this.within(')', () => this.expr());
      case '[':
        return this.list();
      case '{':
        return this.map();
      case '.':
      case 'IDENTIFIER':
        return this.name();
      default:
        return this.literal();
    }
  }

  /** An identifier, a call of a function, or a message literal. */
  private name(): Expr {
    let prefix = '';
    if (this.token.kind === '.') {
      if (this.peek() !== 'IDENTIFIER') {
        this.noViableMember(this.peek());
        return { kind: 'invalid', offset: this.token.offset };
      }
      this.advance();
      prefix = '.';
    }
    const struct = this.structName();
    if (struct !== undefined) return this.struct(prefix + struct);
    const token = this.advance();
    if (RESERVED.has(token.text)) {
      if (this.token.kind === '(') this.callArguments();
      return this.error(token.offset - prefix.length, `reserved identifier: ${token.text}`);
    }
    if (this.token.kind !== '(') return { kind: 'ident', offset: token.offset, name: prefix + token.text };
    const { offset } = this.token;
    return this.call(offset, prefix + token.text, this.callArguments());
  }

  /** The dotted name before a brace, all of its tokens taken; undefined if no brace follows. */
  private structName(): string | undefined {
    let end = this.at;
    while (this.tokens[end + 1]?.kind === '.' && this.tokens[end + 2]?.kind === 'IDENTIFIER') end += 2;
    if (this.tokens[end + 1]?.kind !== '{') return undefined;
    const name = this.tokens.slice(this.at, end + 1).map((token) => token.text);
    this.at = end + 1;
    return name.join('');
  }

  private literal(): Expr {
    const { offset } = this.token;
    const sign = this.token.kind === '-' ? this.advance().text : '';
    const token = this.advance();
    switch (token.kind) {
      case 'NUM_INT': {
        const value = integer(BigInt(token.text) * (sign === '' ? 1n : -1n));
        return value === undefined ? this.error(offset, 'invalid int literal') : { kind: 'literal', offset, value };
      }
      case 'NUM_UINT': {
        const value = BigInt(token.text.slice(0, -1));
        if (value > 0xffffffffffffffffn) return this.error(offset, 'invalid uint literal');
        return { kind: 'literal', offset, value: new Uint(value) };
      }
      case 'NUM_FLOAT': {
        const value = Number(sign + token.text);
        if (!Number.isFinite(value)) return this.error(offset, 'invalid double literal');
        return { kind: 'literal', offset, value: new Double(value) };
      }
      case 'STRING':
      case 'BYTES':
        return this.text(token);
      default:
        return { kind: 'literal', offset, value: token.kind === 'null' ? null : token.kind === 'true' };
    }
  }

  private text(token: Token): Expr {
    const { offset } = token;
    try {
      const value = token.kind === 'STRING' ? unquoteString(token.text) : unquoteBytes(token.text.slice(1));
      return { kind: 'literal', offset, value };
    } catch (error) {
      if (error instanceof LiteralError) return this.error(offset, error.message);
      throw error;
    }
  }

  private optionalMark(): boolean {
    if (this.token.kind !== '?') return false;
    const { offset } = this.advance();
    if (!this.options.optionalSyntax) this.issues.push({ offset, message: "unsupported syntax '?'" });
    return true;
  }

  private list(): Expr {
    const { offset } = this.advance();
    const elements: Expr[] = [];
    const optional = new Set<number>();
    this.within(']', () => {
      const starts = (kind: TokenKind): boolean => STARTS.has(kind) || kind === '?' || kind === ']' || kind === ',';
      if (!this.operandAhead(starts, LIST_START)) return;
      if (this.token.kind !== ']' && this.token.kind !== ',') {
        do {
          if (elements.length > 0) this.advance();
          if (this.optionalMark()) optional.add(elements.length);
          elements.push(this.expr());
        } while (this.is(',') && this.peek() !== ']');
      }
      if (this.is(',')) this.advance();
    });
    return this.grow({ kind: 'list', offset, elements, optional, synthetic: false }, elements, 0);
  }

  private map(): Expr {
    const { offset } = this.advance();
    const entries: MapEntry[] = [];
    this.within('}', () => {
      const starts = (kind: TokenKind): boolean => STARTS.has(kind) || kind === '?' || kind === '}' || kind === ',';
      if (!this.operandAhead(starts, MAP_START)) return;
      if (this.token.kind !== '}' && this.token.kind !== ',') {
        do {
          if (entries.length > 0) this.advance();
          const optional = this.optionalMark();
          this.awaited.push(':');
          const key = this.expr();
          this.awaited.pop();
          const colon = this.match(':', ["':'"]);
          if (colon === undefined) return;
          entries.push({ offset: colon.offset, key, value: this.expr(), optional });
        } while (this.is(',') && this.peek() !== '}');
      }
      if (this.is(',')) this.advance();
    });
    const parts = entries.flatMap(({ key, value }) => [key, value]);
    return this.grow({ kind: 'map', offset, entries }, parts, 0);
  }

  private struct(name: string): Expr {
    const { offset } = this.advance();
    const fields: StructField[] = [];
    this.within('}', () => {
      const starts = (kind: TokenKind): boolean =>
        kind === 'IDENTIFIER' || kind === 'ESC_IDENTIFIER' || kind === '?' || kind === '}' || kind === ',';
      if (!this.operandAhead(starts, STRUCT_START)) return;
      if (this.token.kind !== '}' && this.token.kind !== ',') {
        do {
          if (fields.length > 0) this.advance();
          const optional = this.optionalMark();
          const token = this.token;
          if (token.kind !== 'IDENTIFIER' && token.kind !== 'ESC_IDENTIFIER') {
            this.match('IDENTIFIER', FIELD);
            return;
          }
          this.advance();
          const field = this.fieldName(token);
          const colon = this.match(':', ["':'"]);
          if (colon === undefined) return;
          fields.push({ offset: colon.offset, name: field, value: this.expr(), optional });
        } while (this.is(',') && this.peek() !== '}');
      }
      if (this.is(',')) this.advance();
    });
    const parts = fields.map(({ value }) => value);
    return this.grow({ kind: 'struct', offset, name, fields }, parts, 0);
  }

  /** Notes how deep a construct nests; `levels` are its own. */
  private grow(expr: Expr, parts: readonly (Expr | undefined)[], levels: 0 | 1): Expr {
    let height = 0;
    for (const part of parts) if (part !== undefined) height = Math.max(height, this.heights.get(part) ?? 0);
    height += levels;
    if (height > MAX_DEPTH) {
      this.issues.push({ offset: -1, message: 'max recursion depth exceeded' });
      throw new GiveUp();
    }
    if (height > 0) this.heights.set(expr, height);
    return expr;
  }

  private call(offset: number, name: string, args: readonly Expr[], target?: Expr): Expr {
    const nests = target !== undefined || NESTING.has(name);
    return this.grow(this.callOrMacro(offset, name, args, target), [target, ...args], nests ? 1 : 0);
  }

  private callOrMacro(offset: number, name: string, args: readonly Expr[], target?: Expr): Expr {
    const macro = this.options.macros.get(macroKey(name, args.length, target !== undefined));
    if (macro !== undefined) {
      try {
        const expanded = macro(offset, target, args);
        if (expanded !== undefined) return expanded;
      } catch (error) {
        if (error instanceof MacroError) return this.error(error.at, error.message);
        throw error;
      }
    }
    return { kind: 'call', offset, name, target, args };
  }
}
