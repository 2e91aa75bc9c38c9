import type { Expr } from '../ast.js';
import type { Type } from '../types.js';
import type { Range } from './range.js';

/** An operand as estimates of calls see it. */
export interface Operand {
  /** Where in the declared variables it comes from; undefined: it is computed. */
  readonly path: readonly string[] | undefined;
  readonly type: Type | undefined;
  readonly expr: Expr | undefined;
  /** The size that the expression itself tells. */
  readonly size: Range | undefined;
}

export interface CallEstimate {
  readonly cost: Range;
  readonly resultSize?: Range;
}
