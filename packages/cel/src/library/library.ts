import type { FunctionDecl, VariableDecl } from '../declarations.js';
import type { Macros } from '../parser/macros.js';

/** Functions, types and macros that belong together. */
export interface Library {
  readonly functions?: readonly FunctionDecl[];
  readonly types?: readonly VariableDecl[];
  readonly macros?: Macros;
}
