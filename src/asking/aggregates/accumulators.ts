import { Double, Duration, Quantity, Uint } from '@annex/cel';
import type { Value } from '@annex/cel';
import type { JsonValue } from '../../apimachinery/json/json.js';
import { ExactSum } from './exact-sum.js';
import { isError, QUANTITY, type Scalar, scalarOf, shortest } from './scalar.js';
import { SortedBag } from './sorted-bag.js';

/** What an aggregate takes from one object. */
export interface Contribution {
  readonly scalar: Scalar;
  /** For `top`: the place in the order, which ends with the object's key, and the types that decide about it. */
  readonly place?: { readonly key: string; readonly types: string } | undefined;
}

export type Result = Scalar | JsonValue[] | undefined;

/** The aggregate of a group. What it has depends on the contributions that it has, not on the order in which they came. */
export interface Accumulator {
  /** Returns by about how many bytes it grows. */
  add(from: Contribution): number;
  remove(from: Contribution): void;
  /** Undefined if it has no value. */
  result(): Result;
}

export type Aggregate = 'count' | 'sum' | 'min' | 'max' | 'average' | 'top';

/** The sum of no values, by the type that they would have. */
export const EMPTY_SUMS: Readonly<Record<string, Value>> = {
  int: 0,
  uint: new Uint(0n),
  double: new Double(0),
  'google.protobuf.Duration': new Duration(0n),
  [QUANTITY]: new Quantity(0n, -9, false),
};

export interface AccumulatorOptions {
  readonly aggregate: Aggregate;
  /** The sum of nothing. */
  readonly empty: Value;
  /** The number of values of `top`. */
  readonly count: number;
  /** True if contributions are removed. Without that, only those are kept that matter. */
  readonly removes: boolean;
}

export function newAccumulator({ aggregate, empty, count, removes }: AccumulatorOptions): Accumulator {
  switch (aggregate) {
    case 'count':
      return new Count();
    case 'sum':
      return new Sum(empty);
    case 'average':
      return new Average();
    case 'min':
      return new Extreme('first', removes);
    case 'max':
      return new Extreme('last', removes);
    case 'top':
      return new Top(count, removes);
  }
}

class Count implements Accumulator {
  private count = 0;

  add(): number {
    this.count++;
    return 0;
  }

  remove(): void {
    this.count--;
  }

  result(): Result {
    return shown(this.count);
  }
}

/** Counts by type. Values of different types have no order and no sum. */
class TypeCounts {
  private readonly counts = new Map<string, number>();

  change(type: string, by: 1 | -1): void {
    const count = (this.counts.get(type) ?? 0) + by;
    if (count === 0) this.counts.delete(type);
    else this.counts.set(type, count);
  }

  get isMixed(): boolean {
    return this.counts.size > 1;
  }
}

const typeOf = ({ key }: Scalar): string => key.charAt(0);

/** The sum of the values of one type. */
class Subtotal {
  private readonly doubles: ExactSum | undefined;
  private integers = 0n;
  count = 0;

  constructor(private readonly sample: Value) {
    if (sample instanceof Double) this.doubles = new ExactSum();
  }

  change(value: Value, by: 1 | -1): void {
    this.count += by;
    if (!(value instanceof Double)) this.integers += BigInt(by) * integerOf(value);
    else if (by > 0) this.doubles?.add(value.value);
    else this.doubles?.remove(value.value);
  }

  /** Undefined if the sum is beyond the type. */
  get total(): Value | undefined {
    const { sample, integers } = this;
    if (this.doubles !== undefined) return new Double(this.doubles.value);
    if (sample instanceof Quantity) return new Quantity(integers, -9, false);
    if (sample instanceof Uint) return integers > MAX_UINT ? undefined : new Uint(integers);
    if (integers > MAX_INT || integers < -MAX_INT - 1n) return undefined;
    return sample instanceof Duration ? new Duration(integers) : shortest(integers);
  }

  get average(): Value {
    const { count, integers, doubles } = this;
    if (doubles !== undefined) return new Double(doubles.value / count);
    const whole = integers / BigInt(count);
    return new Double(Number(whole) + Number(integers - whole * BigInt(count)) / count);
  }
}

const MAX_INT = (1n << 63n) - 1n;
const MAX_UINT = (1n << 64n) - 1n;

function shown(value: Value | undefined): Scalar | undefined {
  const found = scalarOf(value);
  return isError(found) ? undefined : found;
}

function integerOf(value: Value): bigint {
  if (typeof value === 'number' || typeof value === 'bigint') return BigInt(value);
  if (value instanceof Uint) return value.value;
  return value instanceof Duration || value instanceof Quantity ? value.nanos : 0n;
}

/** Adds up exactly. Values of different types have no sum. */
class Sum implements Accumulator {
  private readonly byType = new Map<string, Subtotal>();

  constructor(private readonly empty: Value) {}

  add({ scalar }: Contribution): number {
    const type = typeOf(scalar);
    let subtotal = this.byType.get(type);
    if (subtotal === undefined) this.byType.set(type, (subtotal = new Subtotal(scalar.value)));
    subtotal.change(scalar.value, 1);
    return 0;
  }

  remove({ scalar }: Contribution): void {
    const type = typeOf(scalar);
    const subtotal = this.byType.get(type);
    subtotal?.change(scalar.value, -1);
    if (subtotal?.count === 0) this.byType.delete(type);
  }

  result(): Result {
    const [only, other] = this.byType.values();
    if (only === undefined) return shown(this.empty);
    return other === undefined ? shown(this.of(only)) : undefined;
  }

  protected of(subtotal: Subtotal): Value | undefined {
    return subtotal.total;
  }
}

class Average extends Sum {
  constructor() {
    super(null);
  }

  protected override of(subtotal: Subtotal): Value {
    return subtotal.average;
  }
}

/** The smallest or the greatest value. */
class Extreme implements Accumulator {
  private readonly types = new TypeCounts();
  private readonly bag: SortedBag<Scalar> | undefined;
  private kept: Scalar | undefined;

  constructor(
    private readonly end: 'first' | 'last',
    removes: boolean,
  ) {
    if (removes) this.bag = new SortedBag();
  }

  add({ scalar }: Contribution): number {
    this.types.change(typeOf(scalar), 1);
    if (this.bag !== undefined) return this.bag.add(scalar.key, scalar);
    const { kept, end } = this;
    if (kept !== undefined && (end === 'first' ? kept.key <= scalar.key : kept.key >= scalar.key)) return 0;
    this.kept = scalar;
    return scalar.key.length - (kept?.key.length ?? 0);
  }

  remove({ scalar }: Contribution): void {
    this.types.change(typeOf(scalar), -1);
    this.bag?.remove(scalar.key);
  }

  result(): Result {
    if (this.types.isMixed) return undefined;
    return this.bag === undefined ? this.kept : this.bag[this.end]();
  }
}

/** The values of the first objects in an order. */
class Top implements Accumulator {
  private readonly types = new TypeCounts();
  private readonly places = new TypeCounts();
  private readonly bag: SortedBag<JsonValue>;

  constructor(
    private readonly count: number,
    removes: boolean,
  ) {
    this.bag = new SortedBag(removes ? Infinity : count);
  }

  add({ scalar, place = NOWHERE }: Contribution): number {
    this.types.change(typeOf(scalar), 1);
    this.places.change(place.types, 1);
    return this.bag.add(place.key, scalar.json);
  }

  remove({ scalar, place = NOWHERE }: Contribution): void {
    this.types.change(typeOf(scalar), -1);
    this.places.change(place.types, -1);
    this.bag.remove(place.key);
  }

  result(): Result {
    return this.types.isMixed || this.places.isMixed ? undefined : this.bag.take(this.count);
  }
}

const NOWHERE = { key: '', types: '' };
