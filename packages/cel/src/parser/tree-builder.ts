import type { Expr } from '../ast.js';
import type { Issue } from '../source.js';
import { MacroError, macroKey, type Macros } from './macros.js';
import type { TokenKind } from './lexer.js';
import { GiveUp } from './token-stream.js';

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

/** Bound on nesting, counted per grammar rule and in the tree. */
export const MAX_DEPTH = 250;

/** Calls that count as a level of nesting. */
const NESTING = new Set([...RELATIONS.values(), ...SUMS.values(), ...PRODUCTS.values(), '_?_:_', '_[_]', '_[?_]']);

/** Makes nodes, expands macros, and keeps trees from nesting too deeply. */
export class TreeBuilder {
  /** How deep operators and selections nest in what has been parsed; nothing is noted for 0. */
  private readonly heights = new Map<Expr, number>();

  constructor(
    private readonly macros: Macros,
    private readonly issues: Issue[],
  ) {}

  error(offset: number, message: string): Expr {
    this.issues.push({ offset, message });
    return { kind: 'invalid', offset };
  }

  /** Notes how deep a construct nests; `levels` are its own. */
  grow(expr: Expr, parts: readonly (Expr | undefined)[], levels: 0 | 1): Expr {
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

  call(offset: number, name: string, args: readonly Expr[], target?: Expr): Expr {
    const nests = target !== undefined || NESTING.has(name);
    return this.grow(this.callOrMacro(offset, name, args, target), [target, ...args], nests ? 1 : 0);
  }

  private callOrMacro(offset: number, name: string, args: readonly Expr[], target?: Expr): Expr {
    const macro = this.macros.get(macroKey(name, args.length, target !== undefined));
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
