import { CelMap, type FieldSite, type Value } from '../values/value.js';
import { noSuchKey } from '../values/access.js';
import { CostExceeded, nextCheckpoint } from '../work.js';

/** The state of one evaluation. */
export class Frame {
  cost = 0;
  /** The cost above which the next charge checks the limit and reaches a yield point. */
  private checkpoint: number;

  constructor(
    readonly slots: (Value | undefined)[],
    private readonly limit: number,
  ) {
    this.checkpoint = nextCheckpoint(0, limit);
  }

  /** Charges work whose cost depends on sizes. Ends the evaluation if the limit is exceeded. */
  charge(cost: number): void {
    this.cost += cost;
    if (this.cost > this.checkpoint) this.checkLimit();
  }

  /** Ends the evaluation if the limit is exceeded. */
  check(): void {
    if (this.cost > this.checkpoint) this.checkLimit();
  }

  private checkLimit(): void {
    if (this.cost > this.limit) throw new CostExceeded();
    this.checkpoint = nextCheckpoint(this.cost, this.limit);
  }

  /** Ends the evaluation, before the work is done, if the work would exceed the limit. */
  require(cost: number): void {
    if (this.cost + cost > this.limit) throw new CostExceeded();
  }
}

/** A compiled expression. It charges its cost as it runs, and returns errors as values. */
export type Run = (frame: Frame) => Value;

/** `variable.name`, by far the most common operand. Callers read it inline with `readField`, which saves a call. */
export interface VariableField {
  readonly slot: number;
  /** The cost of reading the field. */
  readonly cost: number;
  readonly site: FieldSite;
  /** Reads the field if the variable is not a map. */
  readonly fallback: Run;
}

/** A comparison such as `variable.a < variable.b`. */
export interface FieldComparison {
  readonly relation: number;
  readonly left: VariableField;
  readonly right: VariableField;
}

/** A planned expression. `constant` is set if its value is known before evaluation. */
export interface Plan {
  readonly run: Run;
  readonly constant?: { readonly value: Value; readonly cost: number };
  readonly field?: VariableField | undefined;
  readonly comparison?: FieldComparison | undefined;
}

/** Reads a field: of a map directly, of any other value through `fallback`. */
export function readField(frame: Frame, field: VariableField): Value {
  const value = frame.slots[field.slot];
  if (!(value instanceof CelMap)) return field.fallback(frame);
  frame.cost += field.cost;
  const found = value.select(field.site);
  return found === undefined ? noSuchKey(field.site.name) : found;
}

/** The plan of a constant value. */
export function constant(value: Value, cost: number): Plan {
  const run: Run =
    cost === 0
      ? () => value
      : (frame) => {
          frame.cost += cost;
          return value;
        };
  return { run, constant: { value, cost } };
}

/** The points on which the CEL specification and cel-go (as Kubernetes uses it) differ. */
export interface Dialect {
  /** A map literal with a duplicate key fails; otherwise the last entry wins. */
  readonly uniqueKeys: boolean;
  /** Testing the presence of a field in a value without fields fails; otherwise the field counts as absent. */
  readonly strictPresence: boolean;
  /** Constant parts are computed in advance, and one that fails makes the expression unusable. */
  readonly eagerConstants: boolean;
}

export const KUBERNETES_DIALECT: Dialect = { uniqueKeys: false, strictPresence: false, eagerConstants: true };
