import type { Expr } from '../ast.js';
import { integer } from '../values/integer.js';
import { Double, Uint } from '../values/value.js';
import type { Token } from './lexer.js';
import type { TokenStream } from './token-stream.js';
import type { TreeBuilder } from './tree-builder.js';
import { LiteralError, unquoteBytes, unquoteString } from './unescape.js';

const MAX_UINT = 0xffffffffffffffffn;

/** Takes a number (with its sign), text, bytes, true, false or null. */
export function scalar(tokens: TokenStream, tree: TreeBuilder): Expr {
  const { offset } = tokens.token;
  const sign = tokens.token.kind === '-' ? tokens.advance().text : '';
  const token = tokens.advance();
  switch (token.kind) {
    case 'NUM_INT': {
      const value = integer(BigInt(token.text) * (sign === '' ? 1n : -1n));
      return value === undefined ? tree.error(offset, 'invalid int literal') : { kind: 'literal', offset, value };
    }
    case 'NUM_UINT': {
      const value = BigInt(token.text.slice(0, -1));
      if (value > MAX_UINT) return tree.error(offset, 'invalid uint literal');
      return { kind: 'literal', offset, value: new Uint(value) };
    }
    case 'NUM_FLOAT': {
      const value = Number(sign + token.text);
      if (!Number.isFinite(value)) return tree.error(offset, 'invalid double literal');
      return { kind: 'literal', offset, value: new Double(value) };
    }
    case 'STRING':
    case 'BYTES':
      return text(token, tree);
    default:
      return { kind: 'literal', offset, value: token.kind === 'null' ? null : token.kind === 'true' };
  }
}

function text(token: Token, tree: TreeBuilder): Expr {
  const { offset } = token;
  try {
    const value = token.kind === 'STRING' ? unquoteString(token.text) : unquoteBytes(token.text.slice(1));
    return { kind: 'literal', offset, value };
  } catch (error) {
    if (error instanceof LiteralError) return tree.error(offset, error.message);
    throw error;
  }
}
