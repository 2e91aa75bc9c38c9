import { type Expr, walk } from './ast.js';
import type { StructDecl } from './declarations.js';
import { type Dialect, Frame, KUBERNETES_DIALECT, type Run } from './evaluator/frame.js';
import { PlanError, Planner } from './evaluator/planner.js';
import { CostExceeded, InternalError, endWork, isEvaluating, startWork } from './work.js';
import { DYN, type Type } from './types.js';
import { CelError, type Value } from './values/value.js';

/** The values of the variables, by name. */
export type Bindings = Readonly<Record<string, Value | undefined>>;

/** The result of an evaluation, with its cost. */
export type Outcome =
  | { readonly kind: 'value'; readonly value: Value; readonly cost: number }
  | { readonly kind: 'error'; readonly message: string; readonly cost: number }
  /** The cost limit was exceeded. The message is that of cel-go. */
  | { readonly kind: 'limit'; readonly message: string; readonly cost: number };

export const LIMIT_EXCEEDED = 'operation cancelled: actual cost limit exceeded';

interface Planned {
  readonly run: Run;
  readonly slots: number;
  readonly variables: readonly (readonly [string, number])[];
}

/** A checked expression, planned on first use. */
export class Program {
  private planned: Planned | string | undefined;
  private references: ReadonlySet<string> | undefined;

  constructor(
    readonly source: string,
    /** The checked tree. It must not be modified. */
    readonly expr: Expr,
    private readonly structs: (name: string) => StructDecl | undefined,
    private readonly dialect: Dialect = KUBERNETES_DIALECT,
  ) {}

  get outputType(): Type {
    return this.expr.type ?? DYN;
  }

  /** The names of the variables and type constants that the expression refers to. */
  get variables(): ReadonlySet<string> {
    if (this.references === undefined) {
      const names = new Set<string>();
      walk(this.expr, (node) => {
        if (node.kind === 'ident') names.add(node.name);
        if (node.kind === 'select' && node.resolved !== undefined) names.add(node.resolved.name);
      });
      this.references = names;
    }
    return this.references;
  }

  /** The reason why a well-typed expression cannot run: a constant part of it fails. Undefined if it can. */
  get planError(): string | undefined {
    const planned = this.prepare();
    return typeof planned === 'string' ? planned : undefined;
  }

  private prepare(): Planned | string {
    this.planned ??= plan(this.expr, this.structs, this.dialect);
    return this.planned;
  }

  /** Evaluates the expression. The evaluation ends when its cost exceeds `limit`. Throws AnswerPending while an authorizer's answer is pending. */
  evaluate(bindings: Bindings, limit = Infinity): Outcome {
    const planned = this.prepare();
    if (typeof planned === 'string') return { kind: 'error', message: planned, cost: 0 };
    const slots = emptySlots(planned.slots);
    const { variables } = planned;
    for (let i = 0; i < variables.length; i++) {
      const variable = variables[i] as readonly [string, number];
      slots[variable[1]] = bindings[variable[0]];
    }
    const frame = new Frame(slots, limit);
    // A variable may itself be an expression, which is evaluated in the middle of this one.
    const isNested = isEvaluating();
    if (!isNested) startWork();
    let value: Value;
    try {
      value = planned.run(frame);
    } catch (error) {
      if (!isNested) endWork();
      const { cost } = frame;
      if (error instanceof CostExceeded) return { kind: 'limit', message: LIMIT_EXCEEDED, cost };
      if (error instanceof InternalError) return { kind: 'error', message: `internal error: ${error.message}`, cost };
      throw error;
    }
    if (!isNested) endWork();
    const { cost } = frame;
    if (cost > limit) return { kind: 'limit', message: LIMIT_EXCEEDED, cost };
    if (value instanceof CelError) return { kind: 'error', message: value.message, cost };
    return { kind: 'value', value, cost };
  }
}

/** Creates an array of empty slots. Literals are the fastest way to make small arrays. */
function emptySlots(count: number): (Value | undefined)[] {
  switch (count) {
    case 0:
      return [];
    case 1:
      return [undefined];
    case 2:
      return [undefined, undefined];
    case 3:
      return [undefined, undefined, undefined];
    default:
      return new Array<Value | undefined>(count);
  }
}

function plan(expr: Expr, structs: (name: string) => StructDecl | undefined, dialect: Dialect): Planned | string {
  const planner = new Planner(structs, dialect);
  try {
    const { run } = planner.plan(expr);
    return { run, slots: planner.slots, variables: [...planner.variables] };
  } catch (error) {
    if (error instanceof PlanError) return error.message;
    throw error;
  }
}
