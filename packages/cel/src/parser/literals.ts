import type { Token } from './lexer.js';
import type { Expr } from '../ast.js';
import { integer, MAX_UINT } from '../values/integer.js';
import { Double, Uint } from '../values/value.js';
import type { TokenStream } from './token-stream.js';
import type { TreeBuilder } from './tree-builder.js';

/** Parses a number (with its sign), string, bytes, true, false or null. */
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

const SIMPLE: Record<string, number> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  '\\': 92,
  "'": 39,
  '"': 34,
  '`': 96,
  '?': 63,
};
const HEX_DIGITS: Record<string, number> = { x: 2, X: 2, u: 4, U: 8 };

/** An invalid literal. Clients see its message. */
class LiteralError extends Error {}

const validRune = (code: number): boolean => code < 0xd800 || (code > 0xdfff && code <= 0x10ffff);

/** Returns the content of a quoted token without its quotes, with all line breaks normalized to \n. */
function content(token: string): { text: string; raw: boolean } {
  let text = token.replaceAll('\r\n', '\n').replaceAll('\r', '\n');
  const raw = text.startsWith('r') || text.startsWith('R');
  if (raw) text = text.slice(1);
  const triple = text.length >= 6 && (text.startsWith('"""') || text.startsWith("'''")) ? 3 : 1;
  return { text: text.slice(triple, text.length - triple), raw };
}

/** Reads one escape sequence. `at` is the position of the character after the backslash. */
function escape(text: string, at: number, kind: 'string' | 'bytes'): { code: number; length: number } {
  const c = text[at] ?? '';
  const simple = SIMPLE[c];
  if (simple !== undefined) return { code: simple, length: 1 };
  const digits = HEX_DIGITS[c];
  if (digits !== undefined) {
    if (kind === 'bytes' && digits > 2) throw new LiteralError('unable to unescape string');
    const code = Number.parseInt(text.slice(at + 1, at + 1 + digits), 16);
    if (kind === 'string' && !validRune(code)) throw new LiteralError('invalid unicode code point');
    return { code, length: digits + 1 };
  }
  if (c >= '0' && c <= '3') return { code: Number.parseInt(text.slice(at, at + 3), 8), length: 3 };
  throw new LiteralError('unable to unescape string');
}

/** The value of a string token. */
function unquoteString(token: string): string {
  const { text, raw } = content(token);
  if (raw || !text.includes('\\')) return text;
  let result = '';
  for (let at = 0; at < text.length;) {
    const next = text.indexOf('\\', at);
    if (next < 0) return result + text.slice(at);
    const { code, length } = escape(text, next + 1, 'string');
    result += text.slice(at, next) + String.fromCodePoint(code);
    at = next + 1 + length;
  }
  return result;
}

/** The value of a bytes token without its `b` prefix. Text is encoded as UTF-8; octal and hex escapes are single bytes. */
function unquoteBytes(token: string): Uint8Array {
  const { text, raw } = content(token);
  if (raw || !text.includes('\\')) return new TextEncoder().encode(text);
  const parts: Uint8Array[] = [];
  for (let at = 0; at < text.length;) {
    const next = text.indexOf('\\', at);
    if (next < 0) {
      parts.push(Buffer.from(text.slice(at)));
      break;
    }
    const { code, length } = escape(text, next + 1, 'bytes');
    parts.push(Buffer.from(text.slice(at, next)), Uint8Array.of(code));
    at = next + 1 + length;
  }
  return new Uint8Array(Buffer.concat(parts));
}
