import type { Expr } from '../ast.js';
import type { Issue } from '../source.js';
import { MacroError, macroKey, type Macros } from './macros.js';
import type { TokenKind } from './lexer.js';
import { ParseAborted } from './token-stream.js';

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

/** The maximum nesting depth, both per grammar rule and of the resulting tree. */
export const MAX_DEPTH = 250;

/** The calls that count as a level of nesting. */
const NESTING = new Set([...RELATIONS.values(), ...SUMS.values(), ...PRODUCTS.values(), '_?_:_', '_[_]', '_[?_]']);

/** Builds nodes, expands macros, and limits how deeply trees nest. */
export class TreeBuilder {
  /** How deeply operators and selections nest in each parsed node. Nodes with depth 0 are not recorded. */
  private readonly heights = new Map<Expr, number>();

  constructor(
    private readonly macros: Macros,
    private readonly issues: Issue[],
  ) {}

  error(offset: number, message: string): Expr {
    this.issues.push({ offset, message });
    return { kind: 'invalid', offset };
  }

  /** Records how deeply a construct nests. `levels` is the number of levels that it adds itself. */
  grow(expr: Expr, parts: readonly (Expr | undefined)[], levels: 0 | 1): Expr {
    let height = 0;
    for (const part of parts) if (part !== undefined) height = Math.max(height, this.heights.get(part) ?? 0);
    height += levels;
    if (height > MAX_DEPTH) {
      this.issues.push({ offset: -1, message: 'max recursion depth exceeded' });
      throw new ParseAborted();
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
