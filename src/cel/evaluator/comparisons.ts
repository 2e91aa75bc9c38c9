import type { Call } from '../ast.js';
import { callCost, equalityCost, traverseText } from '../cost/runtime.js';
import type { CallCost } from '../declarations.js';
import { find } from '../values/search.js';
import type { Value } from '../values/value.js';
import { CelError, NO_SUCH_OVERLOAD, noSuchOverload } from '../values/value.js';
import type { Frame, Plan, Run } from './frame.js';
import { compare, equal } from './operators.js';

/** `==` and `!=` */
export function equality(left: Run, right: Run, negated: boolean): Run {
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    if (typeof a === 'number' && typeof b === 'number') {
      frame.cost++;
      return (a === b) !== negated;
    }
    if (typeof a === 'string' && typeof b === 'string') {
      frame.charge(traverseText(a.length < b.length ? a : b, a.length < b.length ? b : a));
      return (equal(a, b) === true) !== negated;
    }
    if (a instanceof CelError || b instanceof CelError) {
      frame.cost += equalityCost([a, b], a);
      return a instanceof CelError ? a : b;
    }
    frame.charge(equalityCost([a, b], a));
    const result = equal(a, b);
    if (negated) return result !== true;
    return result;
  };
}

type Accept = (order: number) => boolean;

const ACCEPT: Readonly<Record<string, Accept>> = {
  '_<_': (order) => order < 0,
  '_<=_': (order) => order <= 0,
  '_>_': (order) => order > 0,
  '_>=_': (order) => order >= 0,
};

/** `<`, `<=`, `>` and `>=`. Numbers that are ints are the common case, and one that is known beforehand more so. */
export function ordering(expr: Call, left: Run, right: Run, known: Plan['constant']): Run {
  const id = expr.overloads?.length === 1 ? (expr.overloads[0]?.id ?? '') : '';
  const general = generalOrdering(expr.name, callCost(expr.name, id));
  const limit = known?.cost === 0 && typeof known.value === 'number' ? known.value : undefined;
  switch (expr.name) {
    case '_<_':
      return limit === undefined ? isLess(left, right, general) : isLessThan(left, limit, general);
    case '_<=_':
      return limit === undefined ? isAtMost(left, right, general) : isAtMostThat(left, limit, general);
    case '_>_':
      return limit === undefined ? isMore(left, right, general) : isMoreThan(left, limit, general);
    default:
      return limit === undefined ? isAtLeast(left, right, general) : isAtLeastThat(left, limit, general);
  }
}

type Ordering = (frame: Frame, a: Value, b: Value) => Value;

function generalOrdering(name: string, cost: CallCost | number): Ordering {
  const accept = ACCEPT[name] ?? (() => false);
  return (frame, a, b) => {
    frame.charge(typeof cost === 'number' ? cost : cost([a, b], a));
    if (a instanceof CelError) return a;
    if (b instanceof CelError) return b;
    const order = compare(a, b);
    // The reference implementation names the operator only where the left side has no order at all.
    if (order === NO_SUCH_OVERLOAD && compare(a, a) === NO_SUCH_OVERLOAD)
      return new CelError(`no such overload: ${name}`);
    return order instanceof CelError ? order : accept(order);
  };
}

// One function for each, so that each is compiled for what it compares.

function isLess(left: Run, right: Run, general: Ordering): Run {
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    if (typeof a !== 'number' || typeof b !== 'number') return general(frame, a, b);
    frame.cost++;
    return a < b;
  };
}

function isLessThan(left: Run, limit: number, general: Ordering): Run {
  return (frame) => {
    const a = left(frame);
    if (typeof a !== 'number') return general(frame, a, limit);
    frame.cost++;
    return a < limit;
  };
}

function isAtMost(left: Run, right: Run, general: Ordering): Run {
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    if (typeof a !== 'number' || typeof b !== 'number') return general(frame, a, b);
    frame.cost++;
    return a <= b;
  };
}

function isAtMostThat(left: Run, limit: number, general: Ordering): Run {
  return (frame) => {
    const a = left(frame);
    if (typeof a !== 'number') return general(frame, a, limit);
    frame.cost++;
    return a <= limit;
  };
}

function isMore(left: Run, right: Run, general: Ordering): Run {
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    if (typeof a !== 'number' || typeof b !== 'number') return general(frame, a, b);
    frame.cost++;
    return a > b;
  };
}

function isMoreThan(left: Run, limit: number, general: Ordering): Run {
  return (frame) => {
    const a = left(frame);
    if (typeof a !== 'number') return general(frame, a, limit);
    frame.cost++;
    return a > limit;
  };
}

function isAtLeast(left: Run, right: Run, general: Ordering): Run {
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    if (typeof a !== 'number' || typeof b !== 'number') return general(frame, a, b);
    frame.cost++;
    return a >= b;
  };
}

function isAtLeastThat(left: Run, limit: number, general: Ordering): Run {
  return (frame) => {
    const a = left(frame);
    if (typeof a !== 'number') return general(frame, a, limit);
    frame.cost++;
    return a >= limit;
  };
}

const TESTS: Readonly<Record<string, (a: string, b: string) => boolean>> = {
  starts_with_string: (a, b) => a.startsWith(b),
  ends_with_string: (a, b) => a.endsWith(b),
  contains_string: (a, b) => find(a, b, 0) >= 0,
};

/** Questions that one text asks of another; undefined for other overloads. */
export function textTest(id: string, left: Run, right: Run): Run | undefined {
  const test = TESTS[id];
  if (test === undefined) return undefined;
  const name = id.startsWith('starts') ? 'startsWith' : id.startsWith('ends') ? 'endsWith' : 'contains';
  const general = callCost(name, id);
  const product = id === 'contains_string';
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    if (typeof a === 'string' && typeof b === 'string') {
      frame.charge(product ? traverseText(a) * traverseText(b) : traverseText(a));
      return test(a, b);
    }
    frame.charge(typeof general === 'number' ? general : general([a, b], null));
    if (a instanceof CelError) return a;
    return b instanceof CelError ? b : noSuchOverload(name, [a, b]);
  };
}
