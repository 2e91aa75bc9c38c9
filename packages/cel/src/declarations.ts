import type { Type } from './types.js';
import type { CelError, Value } from './values/value.js';

/** What an overload does. Arguments are values, never errors. */
export type Implementation = (...args: Value[]) => Value;

/**
 * The run-time cost of a call from its arguments (the receiver first) and its result. Arguments may be errors:
 * what failed is paid for, too.
 */
export type CallCost = (args: readonly Value[], result: Value) => number;

/** One signature of a function. */
export interface OverloadDecl {
  readonly id: string;
  readonly member: boolean;
  /** The receiver of a member function comes first. */
  readonly args: readonly Type[];
  readonly result: Type;
  readonly run: Implementation;
}

export interface FunctionDecl {
  readonly name: string;
  readonly overloads: readonly OverloadDecl[];
}

export interface VariableDecl {
  readonly name: string;
  readonly type: Type;
  /** Constants, such as names of types. */
  readonly value?: Value;
}

/** The fields of an object type. */
export interface StructDecl {
  readonly type: Type;
  /** Undefined for unknown fields. */
  field(name: string): Type | undefined;
  /** Makes an object of the type from the fields given; absent if literals of it are not supported. */
  readonly create?: (fields: ReadonlyMap<string, Value>) => Value | CelError;
}

export const overload = (id: string, args: readonly Type[], result: Type, run: Implementation): OverloadDecl => ({
  id,
  member: false,
  args,
  result,
  run,
});

export const method = (id: string, args: readonly Type[], result: Type, run: Implementation): OverloadDecl => ({
  id,
  member: true,
  args,
  result,
  run,
});

export const fn = (name: string, ...overloads: OverloadDecl[]): FunctionDecl => ({ name, overloads });
