import type { OverloadDecl } from './declarations.js';
import type { Type } from './types.js';
import type { Value } from './values/value.js';

/** The properties that all nodes have. The checker sets the type. */
interface Checked {
  /** The position that error messages about the node refer to. */
  readonly offset: number;
  type?: Type;
}

export interface Literal extends Checked {
  readonly kind: 'literal';
  readonly value: Value;
}

export interface Ident extends Checked {
  readonly kind: 'ident';
  name: string;
  /** The value, if the name is a constant such as the name of a type. */
  constant?: Value;
}

export interface Select extends Checked {
  readonly kind: 'select';
  readonly operand: Expr;
  readonly field: string;
  /** `has(operand.field)` */
  readonly test: boolean;
  /** The variable or constant that the qualified name refers to as a whole. */
  resolved?: Ident;
}

export interface Call extends Checked {
  readonly kind: 'call';
  name: string;
  target: Expr | undefined;
  readonly args: readonly Expr[];
  /** All overloads that match the types of the arguments. */
  overloads?: readonly OverloadDecl[];
}

export interface ListExpr extends Checked {
  readonly kind: 'list';
  readonly elements: readonly Expr[];
  /** The indices of the optional elements, `?x`. */
  readonly optional: ReadonlySet<number>;
  /** True if a macro created the list, not the author of the expression. */
  readonly synthetic: boolean;
}

export interface MapEntry {
  readonly offset: number;
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}

export interface MapExpr extends Checked {
  readonly kind: 'map';
  readonly entries: readonly MapEntry[];
}

export interface StructField {
  readonly offset: number;
  readonly name: string;
  readonly value: Expr;
  readonly optional: boolean;
}

export interface StructExpr extends Checked {
  readonly kind: 'struct';
  name: string;
  readonly fields: readonly StructField[];
}

export interface Comprehension extends Checked {
  readonly kind: 'comprehension';
  readonly range: Expr;
  readonly iterVar: string;
  readonly iterVar2: string | undefined;
  readonly accuVar: string;
  readonly accuInit: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

/** A placeholder for source that does not parse. It never reaches the checker. */
interface Invalid extends Checked {
  readonly kind: 'invalid';
}

export type Expr = Literal | Ident | Select | Call | ListExpr | MapExpr | StructExpr | Comprehension | Invalid;

/** The hidden variable in which macros accumulate their result. */
export const ACCUMULATOR = '@result';

export const NO_OPTIONALS: ReadonlySet<number> = new Set();

/** The arguments of a call, the receiver first. */
export const argumentsOf = ({ target, args }: Call): readonly Expr[] =>
  target === undefined ? args : [target, ...args];

/** The children of a node, in source order. */
export function children(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'select':
      return [expr.operand];
    case 'call':
      return argumentsOf(expr);
    case 'list':
      return expr.elements;
    case 'map':
      return expr.entries.flatMap((entry) => [entry.key, entry.value]);
    case 'struct':
      return expr.fields.map((field) => field.value);
    case 'comprehension':
      return [expr.range, expr.accuInit, expr.condition, expr.step, expr.result];
    default:
      return [];
  }
}

/** Visits a node and its descendants, parents first. */
export function walk(expr: Expr, visit: (expr: Expr) => void): void {
  visit(expr);
  for (const child of children(expr)) walk(child, visit);
}

/** Returns a deep copy, for macros that use an argument twice: the checker modifies nodes. */
export function copyExpr(expr: Expr): Expr {
  switch (expr.kind) {
    case 'select':
      return { ...expr, operand: copyExpr(expr.operand) };
    case 'call':
      return { ...expr, target: expr.target && copyExpr(expr.target), args: expr.args.map(copyExpr) };
    case 'list':
      return { ...expr, elements: expr.elements.map(copyExpr) };
    case 'map':
      return { ...expr, entries: expr.entries.map((e) => ({ ...e, key: copyExpr(e.key), value: copyExpr(e.value) })) };
    case 'struct':
      return { ...expr, fields: expr.fields.map((f) => ({ ...f, value: copyExpr(f.value) })) };
    case 'comprehension':
      return {
        ...expr,
        range: copyExpr(expr.range),
        accuInit: copyExpr(expr.accuInit),
        condition: copyExpr(expr.condition),
        step: copyExpr(expr.step),
        result: copyExpr(expr.result),
      };
    default:
      return { ...expr };
  }
}
