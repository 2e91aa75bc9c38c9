import { CelMap, type FieldSite, type Value } from '../values/value.js';
import { noSuchKey } from './access.js';
import { CostExceeded, nextStop } from '../work.js';

/** The state of one evaluation. */
export class Frame {
  cost = 0;
  /** The cost beyond which the evaluation must not go without asking. */
  private stop: number;

  constructor(
    readonly slots: (Value | undefined)[],
    private readonly limit: number,
  ) {
    this.stop = nextStop(0, limit);
  }

  /** Pays for work whose cost depends on sizes; ends the evaluation that cannot. */
  charge(cost: number): void {
    this.cost += cost;
    if (this.cost > this.stop) this.ask();
  }

  /** Ends the evaluation that has paid more than it may. */
  check(): void {
    if (this.cost > this.stop) this.ask();
  }

  private ask(): void {
    if (this.cost > this.limit) throw new CostExceeded();
    this.stop = nextStop(this.cost, this.limit);
  }

  /** Ends an evaluation that is going to cost more than is left, before the work is done. */
  require(cost: number): void {
    if (this.cost + cost > this.limit) throw new CostExceeded();
  }
}

/** A compiled expression: pays as it goes, returns errors as values. */
export type Run = (frame: Frame) => Value;

/** `variable.name`, by far the commonest operand. Those that have it read it themselves, which saves a call. */
export interface FieldOfSlot {
  readonly slot: number;
  /** What reading it costs. */
  readonly cost: number;
  readonly site: FieldSite;
  /** Reads the variable where it is not a map. */
  readonly otherwise: Run;
}

/** `variable.a < variable.b` and its like. */
export interface FieldComparison {
  readonly relation: number;
  readonly left: FieldOfSlot;
  readonly right: FieldOfSlot;
}

/** A planned expression. Constants are known before evaluation. */
export interface Plan {
  readonly run: Run;
  readonly constant?: { readonly value: Value; readonly cost: number };
  readonly field?: FieldOfSlot | undefined;
  readonly comparison?: FieldComparison | undefined;
}

/** The same as `otherwise`, for maps at once. */
export function readField(frame: Frame, field: FieldOfSlot): Value {
  const value = frame.slots[field.slot];
  if (!(value instanceof CelMap)) return field.otherwise(frame);
  frame.cost += field.cost;
  const found = value.select(field.site);
  return found === undefined ? noSuchKey(field.site.name) : found;
}

/** The plan of a value that is known beforehand. */
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

/** Where the language's specification and the reference implementation (as Kubernetes uses it) differ. */
export interface Dialect {
  /** A map literal that names a key twice fails; otherwise the last entry counts. */
  readonly uniqueKeys: boolean;
  /** Asking a value that has no parts for a part fails; otherwise the part is absent. */
  readonly strictPresence: boolean;
  /** Constant parts are computed beforehand: one that fails makes the expression unusable. */
  readonly eagerConstants: boolean;
}

export const KUBERNETES_DIALECT: Dialect = { uniqueKeys: false, strictPresence: false, eagerConstants: true };
