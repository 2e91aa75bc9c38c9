import type { Type } from './types.js';
import type { CelError, Value } from './values/value.js';

/** The implementation of an overload. Arguments are never errors. */
export type Implementation = (...args: Value[]) => Value;

/**
 * Computes the run-time cost of a call from its arguments (the receiver first) and its result. Arguments may be errors,
 * because failed calls are charged, too.
 */
export type CallCost = (args: readonly Value[], result: Value) => number;

/** One signature of a function. */
export interface OverloadDecl {
  readonly id: string;
  readonly member: boolean;
  /** The types of the arguments. For a member function, the receiver comes first. */
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
  /** The value of a constant, such as the name of a type. */
  readonly value?: Value;
}

/** The declaration of an object type and its fields. */
export interface StructDecl {
  readonly type: Type;
  /** Returns the type of a field, or undefined if the field is unknown. */
  field(name: string): Type | undefined;
  /** Creates an object from field values. Undefined if literals of the type are not supported. */
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
