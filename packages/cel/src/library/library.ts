import type { FunctionDecl, VariableDecl } from '../declarations.js';
import type { Macros } from '../parser/macros.js';

/** A set of functions, types and macros. */
export interface Library {
  readonly functions?: readonly FunctionDecl[];
  readonly types?: readonly VariableDecl[];
  readonly macros?: Macros;
}
