export type { Expr } from '../ast.js';
export { Parser } from './parser.js';
