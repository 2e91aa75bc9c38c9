import type { Call } from '../ast.js';
import { callCost, equalityCost, traverseText } from '../cost/runtime.js';
import type { CallCost } from '../declarations.js';
import { find } from '../values/text.js';
import { CelError, CelMap, type FieldSite, interned, NO_SUCH_OVERLOAD, type Value } from '../values/value.js';
import { type FieldComparison, type VariableField, type Frame, type Plan, readField, type Run } from './frame.js';
import { compare, equal } from '../values/operators.js';

// Operands that are fields are read inline: calling a closure for each one takes longer than the comparison.

/** Plans `==` and `!=`. */
export function equality(expr: Call, left: Plan, right: Plan): Run {
  const negated = expr.name === '_!=_';
  const { run: runLeft, field: leftField } = left;
  const { run: runRight, field: rightField } = right;
  const known = knownScalar(right);
  const run: Run = (frame) => {
    const a = leftField === undefined ? runLeft(frame) : readField(frame, leftField);
    const b = known ?? (rightField === undefined ? runRight(frame) : readField(frame, rightField));
    if (typeof a === 'number' && typeof b === 'number') {
      frame.cost++;
      return (a === b) !== negated;
    }
    if (typeof a === 'string' && typeof b === 'string') {
      if (a.length > SHORT && b.length > SHORT) return equalTexts(frame, a, b) !== negated;
      // The cost is that of the shorter string, in steps of 10 characters: 1 here.
      if (a.length > 0 && b.length > 0) frame.charge(1);
      return (a === b) !== negated;
    }
    return equalOthers(frame, a, b, negated);
  };
  if (leftField === undefined || known === undefined) return run;
  if (typeof known === 'number') return fieldAndNumber(negated ? UNEQUAL : EQUAL, leftField, known, run);
  // For a longer constant, the cost depends on the length of the shorter string.
  return known === '' || known.length > SHORT ? run : fieldAndText(leftField, known, negated, run);
}

/** Plans `x.a == 'short'`. `general` handles all other operands. */
function fieldAndText(field: VariableField, known: string, negated: boolean, general: Run): Run {
  const { slot, site } = field;
  const cost = field.cost + 1;
  return (frame) => {
    const value = frame.slots[slot];
    if (!(value instanceof CelMap)) return general(frame);
    const a = value.select(site);
    if (typeof a !== 'string' || a === '') return general(frame);
    frame.cost += cost;
    return (a === known) !== negated;
  };
}

/** Non-empty strings of up to this many UTF-16 units all cost the same. */
const SHORT = 10;

/** The value of a constant number or string that costs nothing. */
function knownScalar({ constant }: Plan): string | number | undefined {
  if (constant?.cost !== 0) return undefined;
  const { value } = constant;
  return typeof value === 'number' ? value : typeof value === 'string' ? interned(value) : undefined;
}

function equalTexts(frame: Frame, a: string, b: string): boolean {
  frame.charge(a.length < b.length ? traverseText(a, b) : traverseText(b, a));
  return equal(a, b) === true;
}

function equalOthers(frame: Frame, a: Value, b: Value, negated: boolean): Value {
  if (a instanceof CelError || b instanceof CelError) {
    frame.cost += equalityCost([a, b], a);
    return a instanceof CelError ? a : b;
  }
  frame.charge(equalityCost([a, b], a));
  const result = equal(a, b);
  return negated ? result !== true : result;
}

const LESS = 0;
const AT_MOST = 1;
const MORE = 2;
const AT_LEAST = 3;
const EQUAL = 4;
const UNEQUAL = 5;
const RELATIONS: Readonly<Record<string, number>> = { '_<_': LESS, '_<=_': AT_MOST, '_>_': MORE, '_>=_': AT_LEAST };

/** Plans `<`, `<=`, `>` and `>=`. Ints are the common case, and a constant on the right side even more so. */
export function ordering(expr: Call, left: Plan, right: Plan): Run {
  const id = expr.overloads?.length === 1 ? (expr.overloads[0]?.id ?? '') : '';
  const { run: runLeft, field: leftField } = left;
  const { run: runRight, field: rightField } = right;
  const known = knownScalar(right);
  const relation = RELATIONS[expr.name] ?? AT_LEAST;
  const general = generalOrdering(expr.name, relation, callCost(expr.name, id));
  const run: Run = (frame) => {
    const a = leftField === undefined ? runLeft(frame) : readField(frame, leftField);
    const b = known ?? (rightField === undefined ? runRight(frame) : readField(frame, rightField));
    if (typeof a !== 'number' || typeof b !== 'number') return general(frame, a, b);
    frame.cost++;
    return satisfies(relation, a, b);
  };
  if (leftField === undefined) return run;
  if (typeof known === 'number') return fieldAndNumber(relation, leftField, known, run);
  return rightField?.slot === leftField.slot ? twoFields(relation, leftField, rightField, run) : run;
}

function satisfies(relation: number, a: number, b: number): boolean {
  switch (relation) {
    case LESS:
      return a < b;
    case AT_MOST:
      return a <= b;
    case MORE:
      return a > b;
    case AT_LEAST:
      return a >= b;
    case EQUAL:
      return a === b;
    default:
      return a !== b;
  }
}

/** Plans `x.a < 5`. `general` handles all other operands. */
function fieldAndNumber(relation: number, field: VariableField, limit: number, general: Run): Run {
  const { slot, site } = field;
  const cost = field.cost + 1;
  return (frame) => {
    const value = frame.slots[slot];
    if (!(value instanceof CelMap)) return general(frame);
    const a = value.select(site);
    if (typeof a !== 'number') return general(frame);
    frame.cost += cost;
    return satisfies(relation, a, limit);
  };
}

/** Plans `x.a < x.b`. `general` handles all other operands. */
function twoFields(relation: number, left: VariableField, right: VariableField, general: Run): Run {
  const { slot, site } = left;
  const other = right.site;
  const cost = left.cost + right.cost + 1;
  return (frame) => {
    const value = frame.slots[slot];
    if (!(value instanceof CelMap)) return general(frame);
    const a = value.select(site);
    const b = value.select(other);
    if (typeof a !== 'number' || typeof b !== 'number') return general(frame);
    frame.cost += cost;
    return satisfies(relation, a, b);
  };
}

/** The operands of an ordering, if it compares two fields of one variable. */
export function fieldComparison(name: string, left: Plan, right: Plan): FieldComparison | undefined {
  const relation = RELATIONS[name];
  if (relation === undefined || left.field === undefined || right.field?.slot !== left.field.slot) return undefined;
  return { relation, left: left.field, right: right.field };
}

/**
 * Plans `x.a <= x.b && x.b <= x.c`, and the same with `||` (`decisive` is true). Reading a field takes longer than comparing it, so
 * the field that both sides share is read once. `general` handles all other operands.
 */
export function twoComparisons(
  first: FieldComparison,
  second: FieldComparison,
  decisive: boolean,
  general: Run,
): Run | undefined {
  const { slot } = first.left;
  if (second.left.slot !== slot) return undefined;
  const [siteA, siteB] = [first.left.site, first.right.site];
  const [siteC, siteD] = [second.left.site, second.right.site];
  const c = sourceOf(siteC, siteA, siteB);
  const d = sourceOf(siteD, siteA, siteB);
  const cost = first.left.cost + first.right.cost + 1;
  const whole = cost + second.left.cost + second.right.cost + 1;
  return (frame) => {
    const value = frame.slots[slot];
    if (!(value instanceof CelMap)) return general(frame);
    const a = value.select(siteA);
    const b = value.select(siteB);
    if (typeof a !== 'number' || typeof b !== 'number') return general(frame);
    if (satisfies(first.relation, a, b) === decisive) {
      frame.cost += cost;
      return decisive;
    }
    const x = c === LEFT ? a : c === RIGHT ? b : value.select(siteC);
    const y = d === LEFT ? a : d === RIGHT ? b : value.select(siteD);
    if (typeof x !== 'number' || typeof y !== 'number') return general(frame);
    frame.cost += whole;
    return satisfies(second.relation, x, y);
  };
}

const LEFT = 0;
const RIGHT = 1;
const ELSEWHERE = 2;

function sourceOf(site: FieldSite, left: FieldSite, right: FieldSite): number {
  return site.name === left.name ? LEFT : site.name === right.name ? RIGHT : ELSEWHERE;
}

type Ordering = (frame: Frame, a: Value, b: Value) => Value;

function generalOrdering(name: string, relation: number, cost: CallCost | number): Ordering {
  return (frame, a, b) => {
    frame.charge(typeof cost === 'number' ? cost : cost([a, b], a));
    if (a instanceof CelError) return a;
    if (b instanceof CelError) return b;
    const order = compare(a, b);
    // cel-go names the operator only if the left operand has no order at all.
    if (order === NO_SUCH_OVERLOAD && compare(a, a) === NO_SUCH_OVERLOAD)
      return new CelError(`no such overload: ${name}`);
    return order instanceof CelError ? order : satisfies(relation, order, 0);
  };
}

const STARTS = 0;
const ENDS = 1;
const CONTAINS = 2;
const TESTS: Readonly<Record<string, number>> = {
  starts_with_string: STARTS,
  ends_with_string: ENDS,
  contains_string: CONTAINS,
};

/** Plans `startsWith`, `endsWith` and `contains`. Returns undefined for other overloads. */
export function textTest({ name, overloads }: Call, left: Plan, right: Plan): Run | undefined {
  const id = overloads?.length === 1 ? (overloads[0]?.id ?? '') : '';
  const test = TESTS[id];
  if (test === undefined) return undefined;
  const cost = callCost(name, id);
  const { run: runLeft, field } = left;
  const { run: runRight } = right;
  const known = knownScalar(right);
  const knownCost = typeof known === 'string' ? traverseText(known) : 0;
  return (frame) => {
    const a = field === undefined ? runLeft(frame) : readField(frame, field);
    const b = known ?? runRight(frame);
    if (typeof a !== 'string' || typeof b !== 'string') return failedTest(frame, a, b, cost);
    const size = traverseText(a);
    if (test === STARTS) {
      frame.charge(size);
      return a.startsWith(b);
    }
    if (test === ENDS) {
      frame.charge(size);
      return a.endsWith(b);
    }
    frame.charge(size * (known === undefined ? traverseText(b) : knownCost));
    return find(a, b, 0) >= 0;
  };
}

function failedTest(frame: Frame, a: Value, b: Value, cost: CallCost | number): Value {
  frame.charge(typeof cost === 'number' ? cost : cost([a, b], null));
  if (a instanceof CelError) return a;
  return b instanceof CelError ? b : NO_SUCH_OVERLOAD;
}
