import type { Call, Expr } from '../ast.js';
import { fn, type Implementation, method, overload, type OverloadDecl } from '../declarations.js';
import { formatKey } from '../values/access.js';
import type { Library } from './library.js';
import { add, compare, equal } from '../values/operators.js';
import { binding, STANDARD_MACROS, MacroError, type Macro } from '../parser/macros.js';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  STRING,
  TIMESTAMP,
  UINT,
  type Type,
  listOf,
  paramType,
} from '../types.js';
import { isInteger } from '../values/integer.js';
import {
  ArrayList,
  CelError,
  CelList,
  Double,
  Duration,
  NO_SUCH_OVERLOAD,
  Uint,
  type Value,
  typeName,
} from '../values/value.js';
import { onList, onLists } from './helpers.js';
import { MAX_RANGE, chargeWork } from '../work.js';

const A = paramType('A');
const T = paramType('T');

/** The types of elements that `sum` adds, each with its zero. */
const SUMMABLE: readonly (readonly [Type, Value])[] = [
  [INT, 0],
  [UINT, new Uint(0n)],
  [DOUBLE, new Double(0)],
  [DURATION, new Duration(0n)],
];
const COMPARABLE: readonly Type[] = [INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES];

function isSorted(list: CelList): Value {
  let before: Value | undefined;
  for (const item of list) {
    if (item instanceof CelError) return item;
    const order = before === undefined ? 0 : compare(before, item);
    if (typeof order === 'number' && order > 0) return false;
    before = item;
  }
  return true;
}

const sum = (zero: Value): Implementation =>
  onList((list) => {
    let total = zero;
    for (const item of list) {
      if (item instanceof CelError) return item;
      total = add(total, item);
      if (total instanceof CelError) return total;
    }
    return total;
  });

const extreme = (name: string, isBetter: (order: number) => boolean): Implementation =>
  onList((list) => {
    let best: Value | undefined;
    for (const item of list) {
      if (item instanceof CelError) return item;
      if (best === undefined) best = item;
      else {
        const order = compare(best, item);
        if (typeof order === 'number' && isBetter(order)) best = item;
      }
    }
    return best ?? new CelError(`${name} called on empty list`);
  });

const max = extreme('max', (order) => order < 0);
const min = extreme('min', (order) => order > 0);

function indexOf(list: CelList, item: Value): Value {
  chargeWork(list.size);
  for (let i = 0; i < list.size; i++) if (equal(list.get(i), item) === true) return i;
  return -1;
}

function lastIndexOf(list: CelList, item: Value): Value {
  chargeWork(list.size);
  for (let i = list.size - 1; i >= 0; i--) if (equal(list.get(i), item) === true) return i;
  return -1;
}

function includes(target: Value, item: Value): Value {
  if (!(target instanceof CelList)) return equal(target, item) === true;
  chargeWork(target.size);
  for (const other of target) if (equal(other, item) === true) return true;
  return false;
}

const each = (make: (type: Type) => OverloadDecl): OverloadDecl[] => COMPARABLE.map(make);

/** The list functions that Kubernetes defines. */
export const LISTS_LIBRARY: Library = {
  functions: [
    fn(
      'isSorted',
      ...each((type) => method(`list_${type.kind}_is_sorted_bool`, [listOf(type)], BOOL, onList(isSorted))),
    ),
    fn(
      'sum',
      ...SUMMABLE.map(([type, zero]) => method(`list_${type.kind}_sum_${type.kind}`, [listOf(type)], type, sum(zero))),
    ),
    fn('max', ...each((type) => method(`list_${type.kind}_max_${type.kind}`, [listOf(type)], type, max))),
    fn('min', ...each((type) => method(`list_${type.kind}_min_${type.kind}`, [listOf(type)], type, min))),
    fn('indexOf', method('list_a_index_of_int', [listOf(A), A], INT, onList(indexOf))),
    fn('lastIndexOf', method('list_a_last_index_of_int', [listOf(A), A], INT, onList(lastIndexOf))),
  ],
};

/** `includes`, for values that may become lists later. */
export const INCLUDES_LIBRARY: Library = {
  functions: [fn('includes', method('list_includes_dyn_dyn', [DYN, DYN], BOOL, includes))],
};

function slice(list: Value, start: Value, end: Value): Value {
  if (!(list instanceof CelList)) return NO_SUCH_OVERLOAD;
  const [from, to] = [Number(start), Number(end)];
  const call = `cannot slice(${formatKey(start)}, ${formatKey(end)})`;
  if (from < 0 || to < 0) return new CelError(`${call}, negative indexes not supported`);
  if (from > to) return new CelError(`${call}, start index must be less than or equal to end index`);
  if (list.size < to) return new CelError(`${call}, list is length ${list.size}`);
  const items: Value[] = [];
  for (let i = from; i < to; i++) items.push(list.get(i));
  return new ArrayList(items);
}

function flatten(list: CelList, depth: number): Value {
  if (depth < 0) return new CelError('level must be non-negative');
  const items: Value[] = [];
  const add = (from: CelList, left: number): void => {
    chargeWork(from.size);
    for (const item of from) {
      if (item instanceof CelList && left > 0) add(item, left - 1);
      else items.push(item);
    }
  };
  add(list, depth);
  return new ArrayList(items);
}

const unflattened = (list: Value, depth: string): CelError =>
  new CelError(`no such overload: ${typeName(list)}.flatten(${depth})`);

function distinct(list: CelList): Value {
  const items: Value[] = [];
  const scalars = new Set<Value>();
  for (const item of list) {
    if (typeof item === 'string' || typeof item === 'boolean') {
      if (scalars.has(item)) continue;
      scalars.add(item);
    } else {
      chargeWork(items.length);
      if (items.some((other) => equal(item, other) === true)) continue;
    }
    items.push(item);
  }
  return new ArrayList(items);
}

function sortBy(list: CelList, keys: CelList): Value {
  if (list.size !== keys.size) {
    const why = `expected a list of the same size as the associated keys list, but got ${list.size} and ${keys.size} elements respectively`;
    return new CelError(`@sortByAssociatedKeys() ${why}`);
  }
  if (list.size === 0) return list;
  chargeWork(list.size * 8);
  const pairs = Array.from(keys, (key, i) => ({ key, item: list.get(i) }));
  const first = keys.get(0);
  if (compare(first, first) instanceof CelError) return new CelError('list elements must be comparable');
  if (pairs.some(({ key }) => typeName(key) !== typeName(first)))
    return new CelError('list elements must have the same type');
  pairs.sort((a, b) => {
    const order = compare(a.key, b.key);
    return typeof order === 'number' ? order : 0;
  });
  return new ArrayList(pairs.map(({ item }) => item));
}

const sort = (list: CelList): Value => sortBy(list, list);

function range(count: Value): Value {
  const size = Number(count);
  if (size > MAX_RANGE) {
    return new CelError(`lists.range: size ${formatKey(count)} exceeds maximum allowed (${MAX_RANGE})`);
  }
  if (size < 0) return new CelError(`lists.range: size must be non-negative, got ${formatKey(count)}`);
  return new ArrayList(Array.from({ length: size }, (_, i) => i));
}

const reverse = (list: CelList): Value => new ArrayList([...list].reverse());

const SORT_INPUT = '@__sortBy_input__';

/** Expands `list.sortBy(x, key)`: binds the list to a name, maps it to keys, and sorts it by them. */
const sortByMacro: Macro = (offset, target, args) => {
  if (target === undefined) return undefined;
  if (!['list', 'select', 'ident', 'comprehension', 'call'].includes(target.kind)) {
    throw new MacroError(
      target.offset,
      'sortBy can only be applied to a list, identifier, comprehension, call or select expression',
    );
  }
  const input = (): Expr => ({ kind: 'ident', offset, name: SORT_INPUT });
  const keys = STANDARD_MACROS.get('map:2:true')?.(offset, input(), args);
  if (keys === undefined) return undefined;
  const call: Call = { kind: 'call', offset, name: '@sortByAssociatedKeys', target: input(), args: [keys] };
  return binding(offset, SORT_INPUT, target, call);
};

const LIST_T = listOf(T);

/** The list extension of CEL, version 3. */
export const EXTENDED_LISTS_LIBRARY: Library = {
  macros: new Map([['sortBy:2:true', sortByMacro]]),
  functions: [
    fn('slice', method('list_slice', [LIST_T, INT, INT], LIST_T, slice)),
    fn(
      'flatten',
      method('list_flatten', [listOf(LIST_T)], LIST_T, (list) =>
        list instanceof CelList ? flatten(list, 1) : unflattened(list, ''),
      ),
      method('list_flatten_int', [listOf(DYN), INT], listOf(DYN), (list, depth) =>
        list instanceof CelList && isInteger(depth) ? flatten(list, Number(depth)) : unflattened(list, typeName(depth)),
      ),
    ),
    fn('sort', ...each((type) => method(`list_${type.name}_sort`, [listOf(type)], listOf(type), onList(sort)))),
    fn(
      '@sortByAssociatedKeys',
      ...each((type) =>
        method(`list_${type.name}_sortByAssociatedKeys`, [LIST_T, listOf(type)], LIST_T, onLists(sortBy)),
      ),
    ),
    fn('lists.range', overload('lists_range', [INT], listOf(INT), range)),
    fn('reverse', method('list_reverse', [LIST_T], LIST_T, onList(reverse))),
    fn('distinct', method('list_distinct', [LIST_T], LIST_T, onList(distinct))),
  ],
};
