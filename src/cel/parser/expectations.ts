import type { TokenKind } from './lexer.js';

/** Tokens that could stand in a place, as messages list them. */
export type Expected = readonly string[];

/** Every token that can be expected in a place, in the order in which messages list them. */
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

/** What may start a construct: the kinds, and how messages list them. */
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

/** Punctuation and keywords are quoted, classes of tokens are not. */
function quotedKind(kind: TokenKind): string {
  return /^[A-Z]/.test(kind) ? kind : `'${kind}'`;
}

const NOT_OPERANDS: ReadonlySet<TokenKind> = new Set([']', '}', ')', ',', '?', 'ESC_IDENTIFIER']);
const operands = ORDER.filter((kind) => !NOT_OPERANDS.has(kind));

export const OPERAND = new Start(operands);
/** What follows a minus sign that negates what is no number. */
export const MEMBER = new Start(operands.filter((kind) => kind !== '-' && kind !== '!'));
export const INDEX_START = new Start([...operands, '?']);
/** An element of a list, the key of an entry. */
export const ITEM_START = INDEX_START;
export const CALL_START = new Start([...operands, ')']);
export const LIST_START = new Start([...operands, ']', ',', '?']);
export const MAP_START = new Start([...operands, '}', ',', '?']);
export const STRUCT_START = new Start(['}', ',', '?', 'IDENTIFIER', 'ESC_IDENTIFIER']);
export const FIELD_START = new Start(['?', 'IDENTIFIER', 'ESC_IDENTIFIER']);
export const FIELD: Expected = new Start(['IDENTIFIER', 'ESC_IDENTIFIER']).expected;
