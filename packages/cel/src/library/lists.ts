import { type Call, type Comprehension, type Expr, NO_OPTIONALS } from '../ast.js';
import { fn, type FunctionDecl, method, overload, type OverloadDecl } from '../declarations.js';
import { formatKey } from '../evaluator/access.js';
import type { Library } from './library.js';
import * as arithmetic from '../evaluator/operators.js';
import { compare, equal } from '../evaluator/operators.js';
import { STANDARD_MACROS, MacroError, type Macro } from '../parser/macros.js';
import type { Type } from '../types.js';
import { BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, listOf, paramType } from '../types.js';
import type { Value } from '../values/value.js';
import { ArrayList, CelError, CelList, Double, Duration, NO_SUCH_OVERLOAD, Uint, typeName } from '../values/value.js';
import { onList } from './helpers.js';
import { MAX_RANGE, CostExceeded, chargeWork } from '../work.js';

const A = paramType('A');
const T = paramType('T');

const SUMMABLE: readonly (readonly [string, Type, Value])[] = [
  ['int', INT, 0],
  ['uint', UINT, new Uint(0n)],
  ['double', DOUBLE, new Double(0)],
  ['duration', DURATION, new Duration(0n)],
];
const COMPARABLE: readonly (readonly [string, Type])[] = [
  ['int', INT],
  ['uint', UINT],
  ['double', DOUBLE],
  ['bool', BOOL],
  ['duration', DURATION],
  ['timestamp', TIMESTAMP],
  ['string', STRING],
  ['bytes', BYTES],
];

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

function sum(list: CelList, zero: Value): Value {
  let total = zero;
  for (const item of list) {
    if (item instanceof CelError) return item;
    total = arithmetic.add(total, item);
    if (total instanceof CelError) return total;
  }
  return total;
}

function extreme(list: CelList, name: string, better: (order: number) => boolean): Value {
  let best: Value | undefined;
  for (const item of list) {
    if (item instanceof CelError) return item;
    if (best === undefined) best = item;
    else {
      const order = compare(best, item);
      if (typeof order === 'number' && better(order)) best = item;
    }
  }
  return best ?? new CelError(`${name} called on empty list`);
}

function find(list: Value, item: Value, last: boolean): Value {
  if (!(list instanceof CelList)) return NO_SUCH_OVERLOAD;
  chargeWork(list.size);
  for (let n = 0; n < list.size; n++) {
    const i = last ? list.size - 1 - n : n;
    if (equal(list.get(i), item) === true) return i;
  }
  return -1;
}

const each = (make: (name: string, type: Type) => OverloadDecl): OverloadDecl[] =>
  COMPARABLE.map(([name, type]) => make(name, type));

/** The list functions that Kubernetes defines. */
export const LISTS_LIBRARY: Library = {
  functions: [
    fn(
      'isSorted',
      ...each((name, type) => method(`list_${name}_is_sorted_bool`, [listOf(type)], BOOL, onList(isSorted))),
    ),
    fn(
      'sum',
      ...SUMMABLE.map(([name, type, zero]) =>
        method(
          `list_${name}_sum_${name}`,
          [listOf(type)],
          type,
          onList((list) => sum(list, zero)),
        ),
      ),
    ),
    fn(
      'max',
      ...each((name, type) =>
        method(
          `list_${name}_max_${name}`,
          [listOf(type)],
          type,
          onList((list) => extreme(list, 'max', (order) => order < 0)),
        ),
      ),
    ),
    fn(
      'min',
      ...each((name, type) =>
        method(
          `list_${name}_min_${name}`,
          [listOf(type)],
          type,
          onList((list) => extreme(list, 'min', (order) => order > 0)),
        ),
      ),
    ),
    fn(
      'indexOf',
      method('list_a_index_of_int', [listOf(A), A], INT, (list, item) => find(list, item, false)),
    ),
    fn(
      'lastIndexOf',
      method('list_a_last_index_of_int', [listOf(A), A], INT, (list, item) => find(list, item, true)),
    ),
  ],
};

function slice(list: Value | undefined, start: Value | undefined, end: Value | undefined): Value {
  if (!(list instanceof CelList) || start === undefined || end === undefined) return NO_SUCH_OVERLOAD;
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

const unflattened = (list: Value | undefined, depth: string): CelError =>
  new CelError(`no such overload: ${typeName(list ?? null)}.flatten(${depth})`);

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

function sortBy(list: Value | undefined, keys: Value | undefined): Value {
  if (!(list instanceof CelList) || !(keys instanceof CelList)) return NO_SUCH_OVERLOAD;
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

function range(count: Value | undefined): Value {
  const size = Number(count);
  if (size > MAX_RANGE) throw new CostExceeded();
  return new ArrayList(Array.from({ length: Math.max(0, size) }, (_, i) => i));
}

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
  const bind: Comprehension = {
    kind: 'comprehension',
    offset,
    range: { kind: 'list', offset, elements: [], optional: NO_OPTIONALS, synthetic: true },
    iterVar: '#unused',
    iterVar2: undefined,
    accuVar: SORT_INPUT,
    accuInit: target,
    condition: { kind: 'literal', offset, value: false },
    step: input(),
    result: call,
  };
  return bind;
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
        list instanceof CelList && (typeof depth === 'number' || typeof depth === 'bigint')
          ? flatten(list, Number(depth))
          : unflattened(list, typeName(depth ?? null)),
      ),
    ),
    fn(
      'sort',
      ...each((_, type) =>
        method(`list_${type.name}_sort`, [listOf(type)], listOf(type), (list) => sortBy(list, list)),
      ),
    ),
    fn(
      '@sortByAssociatedKeys',
      ...each((_, type) => method(`list_${type.name}_sortByAssociatedKeys`, [LIST_T, listOf(type)], LIST_T, sortBy)),
    ),
    fn('lists.range', overload('lists_range', [INT], listOf(INT), range)),
    fn(
      'reverse',
      method(
        'list_reverse',
        [LIST_T],
        LIST_T,
        onList((list) => new ArrayList([...list].reverse())),
      ),
    ),
    fn('distinct', method('list_distinct', [LIST_T], LIST_T, onList(distinct))),
  ] satisfies FunctionDecl[],
};
