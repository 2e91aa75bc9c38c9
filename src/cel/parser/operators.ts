import type { TokenKind } from './lexer.js';

export const RELATIONS = new Map<TokenKind, string>([
  ['==', '_==_'],
  ['!=', '_!=_'],
  ['<', '_<_'],
  ['<=', '_<=_'],
  ['>=', '_>=_'],
  ['>', '_>_'],
  ['in', '@in'],
]);
export const SUMS = new Map<TokenKind, string>([
  ['+', '_+_'],
  ['-', '_-_'],
]);
export const PRODUCTS = new Map<TokenKind, string>([
  ['*', '_*_'],
  ['/', '_/_'],
  ['%', '_%_'],
]);
