import { argumentsOf, type Call } from '../ast.js';
import { BY_RESULT, callCost } from '../cost/runtime.js';
import type { CallCost, OverloadDecl } from '../declarations.js';
import { SINGLETONS, textSize } from '../library/standard.js';
import { isDyn, type Type } from '../types.js';
import {
  type ArrayList,
  CelError,
  CelList,
  CelMap,
  Double,
  Duration,
  FieldSite,
  Opaque,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
  interned,
  mapKey,
  noSuchOverload,
  NO_SUCH_OVERLOAD,
} from '../values/value.js';
import { type Frame, type Plan, readField, type Run } from './frame.js';
import { equality, ordering, textTest } from './comparisons.js';

/** Reports whether a runtime value has a static type. For lists, only the first element is checked. */
export function isOfType(value: Value, type: Type): boolean {
  switch (type.kind) {
    case 'bool':
      return typeof value === 'boolean' || (type.nullable && value === null);
    case 'int':
      return typeof value === 'number' || typeof value === 'bigint' || (type.nullable && value === null);
    case 'string':
      return typeof value === 'string' || (type.nullable && value === null);
    case 'uint':
      return value instanceof Uint;
    case 'double':
      return value instanceof Double;
    case 'bytes':
      return value instanceof Uint8Array;
    case 'null':
      return value === null;
    case 'duration':
      return value instanceof Duration;
    case 'timestamp':
      return value instanceof Timestamp;
    case 'list':
      return value instanceof CelList && (value.size === 0 || isOfType(value.get(0), type.elem));
    case 'map':
      return value instanceof CelMap;
    case 'type':
      return value instanceof TypeValue;
    case 'struct':
      return value instanceof Opaque ? value.typeName === type.name : value instanceof CelMap;
    case 'opaque':
      if (type.name === 'optional_type') return value instanceof Optional;
      return value instanceof Opaque && value.typeName === type.name;
    default:
      return true;
  }
}

const matchesSignature = (overload: OverloadDecl, args: readonly Value[]): boolean =>
  overload.args.length === args.length && overload.args.every((type, i) => isOfType(args[i] as Value, type));

/** Reports whether a static type guarantees the runtime type. A list may hold values that its schema does not allow: a float among integers. */
const isCertain = (type: Type | undefined): boolean =>
  type !== undefined &&
  !isDyn(type) &&
  type.kind !== 'list' &&
  type.kind !== 'error' &&
  !type.open &&
  type.params.every((param) => isCertain(param));

/** The overloads that check their arguments themselves, because the first element of a list says nothing about the others. */
const UNGUARDED: ReadonlySet<string> = new Set(['list_flatten', 'list_flatten_int']);

/** The errors of calls that match no overload, for functions whose error does not list the argument types. */
const MISMATCHES: ReadonlyMap<string, CelError> = new Map([
  ['sort', new CelError('no such overload: sort')],
  ['findAll', NO_SUCH_OVERLOAD],
]);

const mismatch = (name: string, args: readonly Value[]): CelError => MISMATCHES.get(name) ?? noSuchOverload(name, args);

type Dispatch = (args: readonly Value[]) => Value;

function dispatcher(expr: Call, overloads: readonly OverloadDecl[], argTypes: readonly (Type | undefined)[]): Dispatch {
  const [only] = overloads;
  if (only !== undefined && (overloads.length === 1 || SINGLETONS.has(expr.name))) {
    if (UNGUARDED.has(only.id) || SINGLETONS.has(expr.name) || argTypes.every(isCertain)) return direct(only);
    return (args) => (matchesSignature(only, args) ? only.run(...args) : mismatch(expr.name, args));
  }
  return (args) => {
    for (const overload of overloads) if (matchesSignature(overload, args)) return overload.run(...args);
    return mismatch(expr.name, args);
  };
}

/** Calls the implementation, without spreading the arguments where possible. */
function direct({ run }: OverloadDecl): Dispatch {
  return (args) =>
    args.length === 1
      ? run(args[0] as Value)
      : args.length === 2
        ? run(args[0] as Value, args[1] as Value)
        : run(...args);
}

/** Plans a function call. Conditionals, selections and indices are not calls. */
export function planCall(expr: Call, args: readonly Plan[]): Run {
  const overloads = expr.overloads ?? [];
  const [left, right] = args;
  if (left !== undefined && right !== undefined && args.length === 2) {
    const special = planOperator(expr, left, right);
    if (special !== undefined) return special;
  }
  const cost = callCost(expr.name, overloads.length === 1 ? (overloads[0]?.id ?? '') : '');
  const types = argumentsOf(expr).map((arg) => arg.type);
  const dispatch = dispatcher(expr, overloads, types);
  if (left !== undefined && args.length === 1) {
    if (expr.name === 'size' && cost === 1) return sizeOperator(left, dispatch);
    return expr.name === '!_' ? negation(left.run, cost, dispatch) : unary(left.run, cost, dispatch);
  }
  if (left !== undefined && right !== undefined && args.length === 2 && !shortCircuitsOnError(expr, args)) {
    if (expr.name === '@in' && cost === 1) {
      return membershipInMap(left, right, (frame, found) => strictCall(frame, found, cost, dispatch));
    }
    const { run: first } = left;
    const { run: second } = right;
    return (frame) => strictCall(frame, [first(frame), second(frame)], cost, dispatch);
  }
  return variadic(
    args.map((arg) => arg.run),
    cost,
    dispatch,
  );
}

/** Reports whether the second argument is not evaluated if the first fails. This includes calls whose pattern was compiled in advance. */
function shortCircuitsOnError(expr: Call, args: readonly Plan[]): boolean {
  switch (expr.name) {
    case 'format':
      return true;
    case 'matches':
    case 'find':
    case 'findAll':
      return args[1]?.constant !== undefined;
    default:
      return false;
  }
}

/** Calls a function and charges its cost: before the call, as far as the arguments determine it. */
function chargedCall(frame: Frame, args: readonly Value[], cost: CallCost | number, dispatch: Dispatch): Value {
  if (typeof cost === 'number') {
    frame.charge(cost);
    return dispatch(args);
  }
  const least = BY_RESULT.get(cost);
  if (least === undefined) {
    frame.charge(cost(args, null));
    return dispatch(args);
  }
  frame.require(least(args));
  const result = dispatch(args);
  frame.charge(cost(args, result));
  return result;
}

const costOf = (cost: CallCost | number, args: readonly Value[], result: Value): number =>
  typeof cost === 'number' ? cost : cost(args, result);

function unaryCall(frame: Frame, value: Value, cost: CallCost | number, dispatch: Dispatch): Value {
  if (!(value instanceof CelError)) return chargedCall(frame, [value], cost, dispatch);
  frame.charge(costOf(cost, [value], value));
  return value;
}

function unary(arg: Run, cost: CallCost | number, dispatch: Dispatch): Run {
  return (frame) => unaryCall(frame, arg(frame), cost, dispatch);
}

function negation(arg: Run, cost: CallCost | number, dispatch: Dispatch): Run {
  return (frame) => {
    const value = arg(frame);
    if (typeof value !== 'boolean') return unaryCall(frame, value, cost, dispatch);
    frame.cost++;
    return !value;
  };
}

/** Plans `size(x)`. The operand is usually a field. */
function sizeOperator({ run, field }: Plan, dispatch: Dispatch): Run {
  return (frame) => {
    const value = field === undefined ? run(frame) : readField(frame, field);
    if (typeof value !== 'string' && !(value instanceof CelList)) return unaryCall(frame, value, 1, dispatch);
    frame.charge(1);
    return typeof value === 'string' ? textSize(value) : value.size;
  };
}

/** Calls a function with two arguments. The result is the first argument that is an error, if any. */
function strictCall(frame: Frame, args: readonly Value[], cost: CallCost | number, dispatch: Dispatch): Value {
  const [a, b] = args;
  if (!(a instanceof CelError || b instanceof CelError)) return chargedCall(frame, args, cost, dispatch);
  const error = a instanceof CelError ? a : (b as CelError);
  frame.charge(costOf(cost, args, error));
  return error;
}

/** Plans a call that stops at the first argument that fails. A failed call is charged only if all arguments were evaluated. */
function variadic(runs: readonly Run[], cost: CallCost | number, dispatch: Dispatch): Run {
  return (frame) => {
    const args: Value[] = [];
    for (const run of runs) {
      const value = run(frame);
      args.push(value);
      if (!(value instanceof CelError)) continue;
      if (args.length === runs.length) frame.charge(costOf(cost, args, value));
      return value;
    }
    return chargedCall(frame, args, cost, dispatch);
  };
}

// --- operators with an implementation of their own

function planOperator(expr: Call, left: Plan, right: Plan): Run | undefined {
  switch (expr.name) {
    case '_==_':
    case '_!=_':
      return equality(expr, left, right);
    case '_<_':
    case '_<=_':
    case '_>_':
    case '_>=_':
      return ordering(expr, left, right);
    case 'startsWith':
    case 'endsWith':
    case 'contains':
      return textTest(expr, left, right);
    case 'or':
    case 'orValue':
      return expr.target === undefined ? undefined : orElse(expr, left.run, right.run);
    default:
      return undefined;
  }
}

/** Plans `a.or(b)` and `a.orValue(b)`. `b` is evaluated only if `a` is empty. */
function orElse(expr: Call, left: Run, right: Run): Run {
  const unwrap = expr.name === 'orValue';
  return (frame) => {
    const value = left(frame);
    if (!(value instanceof Optional)) return value;
    if (value.value === undefined) return right(frame);
    return unwrap ? value.value : value;
  };
}

/** Up to this many strings are compared one by one, which is faster than a lookup in a set. */
const FEW = 8;

/** Plans membership in a constant list of scalars. Returns undefined if the list contains anything else. */
export function planMembership(item: Plan, list: ArrayList, listCost: number): Run | undefined {
  const set = new Set<string | number | bigint | boolean>();
  const doubles: Double[] = [];
  for (const value of list.items) {
    if (value instanceof Double && !Number.isInteger(value.value)) doubles.push(value);
    else {
      const key = mapKey(value);
      if (key === undefined) return undefined;
      set.add(typeof key === 'string' ? interned(key) : key);
    }
  }
  const { run, field } = item;
  const few = set.size <= FEW ? [...set] : undefined;
  return (frame) => {
    frame.cost += listCost;
    const value = field === undefined ? run(frame) : readField(frame, field);
    if (few !== undefined && (typeof value === 'string' || typeof value === 'number')) {
      for (let i = 0; i < few.length; i++) if (few[i] === value) return true;
      return false;
    }
    if (value instanceof CelError) return value;
    const key = mapKey(value);
    if (key !== undefined) return set.has(key);
    return value instanceof Double && doubles.some((double) => double.value === value.value);
  };
}

/** Plans `key in map` with a string key. `general` handles all other operands. */
function membershipInMap(key: Plan, map: Plan, general: (frame: Frame, args: readonly Value[]) => Value): Run {
  const { value: known } = key.constant ?? {};
  const site = key.constant?.cost === 0 && typeof known === 'string' ? new FieldSite(known) : undefined;
  const { run, field } = map;
  return (frame) => {
    const item = site === undefined ? key.run(frame) : site.name;
    const container = field === undefined ? run(frame) : readField(frame, field);
    if (typeof item !== 'string' || !(container instanceof CelMap)) return general(frame, [item, container]);
    frame.charge(1);
    const found = site === undefined ? container.field(item) : container.select(site);
    return found instanceof CelError ? found : found !== undefined;
  };
}

/** `&&` (`decisive` is false) and `||` (`decisive` is true). The decisive value takes precedence over errors on either side. */
export function logical(terms: readonly Run[], decisive: boolean): Run {
  const [first, second, third] = terms;
  if (first !== undefined && second !== undefined) {
    if (terms.length === 2) return logicalPair(first, second, decisive);
    if (third !== undefined && terms.length === 3) return logicalTriple(first, second, third, decisive);
  }
  return (frame) => evaluateTerms(frame, terms, 0, decisive, undefined);
}

const problem = (value: Value): Value => (value instanceof CelError ? value : NO_SUCH_OVERLOAD);

/** Evaluates the terms from `start` on. The first error is returned if no term is decisive. */
function evaluateTerms(
  frame: Frame,
  terms: readonly Run[],
  start: number,
  decisive: boolean,
  failed: Value | undefined,
): Value {
  let error = failed;
  for (let i = start; i < terms.length; i++) {
    const value = (terms[i] as Run)(frame);
    if (value === decisive) return value;
    if (typeof value !== 'boolean') error ??= problem(value);
  }
  return error ?? !decisive;
}

function logicalPair(left: Run, right: Run, decisive: boolean): Run {
  return (frame) => {
    const a = left(frame);
    if (a === decisive) return a;
    const b = right(frame);
    if (b === decisive) return b;
    if (typeof a !== 'boolean') return problem(a);
    return typeof b === 'boolean' ? b : problem(b);
  };
}

function logicalTriple(first: Run, second: Run, third: Run, decisive: boolean): Run {
  const rest = [second, third];
  return (frame) => {
    const a = first(frame);
    if (a === decisive) return a;
    if (typeof a !== 'boolean') return evaluateTerms(frame, rest, 0, decisive, problem(a));
    const b = second(frame);
    if (b === decisive) return b;
    if (typeof b !== 'boolean') return evaluateTerms(frame, rest, 1, decisive, problem(b));
    const c = third(frame);
    return typeof c === 'boolean' ? c : problem(c);
  };
}
