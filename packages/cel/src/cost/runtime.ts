import type { CallCost } from '../declarations.js';
import type { Value } from '../values/value.js';
import {
  CelError,
  CelList,
  CelMap,
  Double,
  Duration,
  Opaque,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
} from '../values/value.js';
import { codePointLength } from '../values/text.js';
import { InternalError, chargeWork, chargeText, MAX_RANGE } from '../work.js';
import { formatRegexSize } from '../library/kubernetes/named-formats.js';

/** The project's specification sets 40 for a list literal in the source; lists that macros create cost 10. */
export const LIST_LITERAL = 40;
export const LIST_BASE = 10;
export const MAP_BASE = 30;
export const STRUCT_BASE = 40;
/** The cost per character of reading a text, and per character of a pattern. */
export const TRAVERSAL = 0.1;
export const REGEX = 0.25;
export const AUTHORIZATION = 350000;

/** Returns the result of `size()`, or 1 for values that have no size. */
function sizeOf(value: Value | undefined): number {
  if (typeof value === 'string') return codePointLength(value);
  if (value instanceof CelList || value instanceof CelMap) return value.size;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof Opaque) return value.cost;
  if (value instanceof Optional && value.value !== undefined) return sizeOf(value.value);
  return 1;
}

const traverse = (size: number): number => Math.ceil(size * TRAVERSAL);
/** The cost of reading every character of a string. Given two strings, only the shorter one counts. */
export function traverseText(text: string, longer?: string): number {
  // A string of 1 to 10 UTF-16 units has 1 to 10 characters.
  if (text.length <= 10) return text.length === 0 ? 0 : 1;
  const size = codePointLength(text);
  return traverse(longer === undefined ? size : Math.min(size, codePointLength(longer)));
}

const regex = (text: number, pattern: number): number => Math.ceil((1 + text) * TRAVERSAL) * Math.ceil(pattern * REGEX);

/** The cost of traversing a value. */
function traversal(value: Value | undefined): number {
  if (typeof value === 'string') chargeText(value.length);
  if (typeof value === 'string') return Math.trunc(Buffer.byteLength(value) * TRAVERSAL);
  if (value instanceof Uint8Array) return Math.trunc(value.length * TRAVERSAL);
  let cost = 0;
  if (value instanceof CelList) {
    chargeWork(value.size);
    for (const item of value) cost += traversal(item);
    return cost;
  }
  if (value instanceof CelMap) {
    chargeWork(value.size * 2);
    for (const key of value.keys()) cost += traversal(key) + traversal(value.find(key));
    return cost;
  }
  return 1;
}

const ofFirst: CallCost = (args) => traverse(sizeOf(args[0]));
const ofSecond: CallCost = (args) => traverse(sizeOf(args[1]));
const ofFirstTwice: CallCost = (args) => Math.ceil(sizeOf(args[0]) * 2 * TRAVERSAL);
const ofRegex: CallCost = (args) => regex(sizeOf(args[0]), sizeOf(args[1]));
const ofSmaller: CallCost = (args) => {
  const [a, b] = args;
  // Fast path for scalars, the common case.
  if (typeof a === 'number' || typeof a === 'boolean' || typeof b === 'number' || typeof b === 'boolean') {
    return sizeOf(a) === 0 || sizeOf(b) === 0 ? 0 : 1;
  }
  return traverse(Math.min(sizeOf(a), sizeOf(b)));
};
const ofSum: CallCost = (args) => traverse(sizeOf(args[0]) + sizeOf(args[1]));

const selector: CallCost = (args) => {
  const size = sizeOf(args[1]);
  return LIST_BASE + traverse(size) + Math.ceil(Math.ceil(size * 0.5) * (LIST_BASE + STRUCT_BASE));
};

/** The cost of `containsIP` and `containsCIDR`. */
function containment(name: string, overload: string): CallCost {
  const comparesPrefixes = name === 'containsCIDR';
  const parses = overload.endsWith('_string');
  return (args) => {
    const cidr = sizeOf(args[0]);
    let cost = traverse(cidr + cidr);
    if (comparesPrefixes) cost += traverse(cidr) + 1;
    return parses ? cost + traverse(sizeOf(args[1])) : cost;
  };
}

/** The cost functions that depend on the result, each with a lower bound of the cost that is computed from the arguments. */
export const BY_RESULT = new Map<CallCost, (args: readonly Value[]) => number>();

function byResult(cost: (size: number) => number, least: (args: readonly Value[]) => number): CallCost {
  const ofResult: CallCost = (_args, result) => cost(sizeOf(result));
  BY_RESULT.set(ofResult, least);
  return ofResult;
}

/** A lower bound of the cost of `join`, or 0 if the call will fail. */
function minJoinCost([list, separator]: readonly Value[]): number {
  if (!(list instanceof CelList)) return 0;
  chargeWork(list.size);
  let units = list.size === 0 || typeof separator !== 'string' ? 0 : separator.length * (list.size - 1);
  for (const item of list) {
    if (typeof item !== 'string') return 0;
    units += item.length;
  }
  // The factor is half of that of the cost, because a character may take two UTF-16 units.
  return Math.trunc(units * TRAVERSAL);
}

/** The costs that depend on the function's name, whatever the overload. */
const BY_NAME = new Map<string, CallCost | number>([
  ['check', AUTHORIZATION],
  ['fieldSelector', selector],
  ['labelSelector', selector],
  ['replace', ofFirstTwice],
  ['split', ofFirstTwice],
  ['ip.isCanonical', ofFirstTwice],
  ['join', byResult((size) => Math.ceil(size * 2 * TRAVERSAL), minJoinCost)],
  ['find', ofRegex],
  ['findAll', ofRegex],
  ['validate', (args) => regex(sizeOf(args[1]), formatRegexSize(args[0]) ?? 1)],
]);
for (const name of ['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf', 'includes']) {
  BY_NAME.set(name, (args) => traversal(args[0]));
}
for (const name of [
  'url',
  'lowerAscii',
  'upperAscii',
  'substring',
  'trim',
  'jsonpatch.escapeKey',
  'cidr',
  'isIP',
  'isCIDR',
  'quantity',
  'isQuantity',
  'semver',
  'isSemver',
]) {
  BY_NAME.set(name, ofFirst);
}

/** The costs that depend on the overload. */
const BY_OVERLOAD = new Map<string, CallCost>([
  ['in_list', (args) => sizeOf(args[1])],
  ['matches', ofRegex],
  ['matches_string', ofRegex],
  ['starts_with_string', ofSecond],
  ['ends_with_string', ofSecond],
  ['contains_string', (args) => traverse(sizeOf(args[0])) * traverse(sizeOf(args[1]))],
]);
for (const id of ['string_to_bytes', 'bytes_to_string', 'strings_quote', 'string_format']) {
  BY_OVERLOAD.set(id, ofFirst);
}
for (const id of ['equals', 'not_equals']) BY_OVERLOAD.set(id, ofSmaller);
for (const order of ['less', 'greater', 'less_equals', 'greater_equals']) {
  for (const type of ['string', 'bytes']) BY_OVERLOAD.set(`${order}_${type}`, ofSmaller);
}
for (const id of ['add_string', 'add_bytes']) BY_OVERLOAD.set(id, ofSum);

/** The cost of allocating a list of the given size. */
const allocated = (size: number, factor = 1): number => Math.trunc(size * factor) + 1 + LIST_BASE;
/** The cost of a call that returns a new list. */
const ofNewList = (least: (args: readonly Value[]) => number): CallCost => byResult(allocated, least);
/** A lower bound of the cost of a slice. It is 0 for a call that will fail: the error is charged like a list of one element. */
const minSliceCost = ([list, start, end]: readonly Value[]): number =>
  list instanceof CelList && Number(start) >= 0 && Number(end) <= list.size ? Number(end) - Number(start) : 0;

const ofFlatten: CallCost = (args) => {
  const [list, depth] = args;
  if (depth instanceof CelError) throw new InternalError('interface conversion: ref.Val is *types.Err, not types.Int');
  return allocated(sizeOf(list), args.length === 2 ? Number(depth) : 1);
};

/** The error for an operand that is not a list. cel-go casts the operand to a list without checking its type first. */
function notLister(value: Value | undefined): InternalError {
  const [type, lacks] = goType(value);
  return new InternalError(`interface conversion: ${type} is not traits.Lister: missing method ${lacks}`);
}

/** The Go type that cel-go uses for a value, and the first method of `traits.Lister` that this type lacks. */
export function goType(value: Value | undefined): readonly [type: string, lacks: string] {
  if (typeof value === 'number' || typeof value === 'bigint') return ['types.Int', 'Contains'];
  if (typeof value === 'string') return ['types.String', 'Contains'];
  if (typeof value === 'boolean') return ['types.Bool', 'Add'];
  if (value === null) return ['types.Null', 'Add'];
  if (value instanceof Double) return ['types.Double', 'Contains'];
  if (value instanceof Uint) return ['types.Uint', 'Contains'];
  if (value instanceof Uint8Array) return ['types.Bytes', 'Contains'];
  if (value instanceof Duration) return ['types.Duration', 'Contains'];
  if (value instanceof Timestamp) return ['types.Timestamp', 'Contains'];
  if (value instanceof CelMap) return ['*types.baseMap', 'Add'];
  if (value instanceof Optional) return ['*types.Optional', 'Add'];
  return [value instanceof TypeValue ? '*types.Type' : '*types.Err', 'Add'];
}

/** The cost of comparing every element of a list with every other. */
function selfCompare(list: Value | undefined): number {
  if (!(list instanceof CelList)) throw notLister(list);
  if (list.size === 0) return allocated(0);
  const first = list.get(0);
  const factor = typeof first === 'string' || first instanceof Uint8Array ? 2 + TRAVERSAL : 2;
  return allocated(list.size * list.size, factor);
}

const sets =
  (factor: number): CallCost =>
  (args) =>
    1 + Math.trunc(sizeOf(args[0]) * sizeOf(args[1]) * factor);

/** The costs of the extension overloads. They take precedence over those by name. */
const OF_EXTENSIONS = new Map<string, CallCost>([
  ['list_sets_contains_list', sets(1)],
  ['list_sets_intersects_list', sets(1)],
  ['list_sets_equivalent_list', sets(2)],
  ['list_slice', ofNewList(minSliceCost)],
  ['lists_range', ofNewList(([count]) => (Number(count) > MAX_RANGE ? 0 : Math.max(0, Number(count))))],
  ['list_reverse', ofNewList(([list]) => sizeOf(list))],
  ['list_flatten', ofFlatten],
  ['list_flatten_int', ofFlatten],
  ['list_distinct', (args) => selfCompare(args[0])],
]);
const ofSort: CallCost = (args) => selfCompare(args[0]);
const ofSortBy: CallCost = (args) => selfCompare(args[1]);

/** The cost of a call. `overload` is empty if several overloads are possible. A number is a fixed cost. */
export function callCost(name: string, overload: string): CallCost | number {
  if (name === 'ip') return overload === 'cidr_ip' ? 1 : ofFirst;
  if (name === 'containsIP' || name === 'containsCIDR') return containment(name, overload);
  const extension = OF_EXTENSIONS.get(overload);
  if (extension !== undefined) return extension;
  if (overload.endsWith('_sort')) return ofSort;
  if (overload.endsWith('_sortByAssociatedKeys')) return ofSortBy;
  return BY_NAME.get(name) ?? BY_OVERLOAD.get(overload) ?? 1;
}

/** The cost of `==`. Comparing opaque values costs 1. */
export const equalityCost: CallCost = (args, result) => (args[0] instanceof Opaque ? 1 : ofSmaller(args, result));
