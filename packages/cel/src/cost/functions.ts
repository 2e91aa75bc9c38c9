import type { Expr } from '../ast.js';
import { DYN, type Type } from '../types.js';

/** A range of costs or sizes. Values are capped at UNBOUNDED. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** 2^64 represents the largest unsigned 64-bit integer and everything above it. */
export const UNBOUNDED = 2 ** 64;

export const UNKNOWN: Range = { min: 0, max: UNBOUNDED };
export const NOTHING: Range = { min: 0, max: 0 };

const cap = (value: number): number => Math.min(value, UNBOUNDED);

export const fixed = (value: number): Range => ({ min: value, max: value });

export const add = (a: Range, b: Range): Range => ({ min: cap(a.min + b.min), max: cap(a.max + b.max) });

export const multiply = (a: Range, b: Range): Range => ({ min: cap(a.min * b.min), max: cap(a.max * b.max) });

/** Multiplies a range by a factor, rounding up. */
const scale = (a: Range, factor: number): Range => ({
  min: cap(Math.ceil(a.min * factor)),
  max: cap(Math.ceil(a.max * factor)),
});

export const union = (a: Range, b: Range): Range => ({ min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) });

/** An operand of a call, as the estimates need it. */
export interface Operand {
  /** The path from a declared variable to the operand, or undefined if the operand is computed. */
  readonly path: readonly string[] | undefined;
  readonly type: Type | undefined;
  readonly expr: Expr | undefined;
  /** The size, if the expression itself determines it. */
  readonly size: Range | undefined;
}

export interface CallEstimate {
  readonly cost: Range;
  readonly resultSize?: Range;
}

const TRAVERSAL = 0.1;
const REGEX = 0.25;
const LIST_BASE = 10;
const STRUCT_BASE = 40;
const AUTHORIZATION = 350000;
const MAX_FORMAT = 64;
const MAX_FORMAT_REGEX = 128;
const ONE = fixed(1);

type SizeOf = (operand: Operand) => Range;
/** Estimates a call. Returns undefined if the function has no estimate of its own for these arguments. */
type Estimate = (
  sizeOf: SizeOf,
  target: Operand | undefined,
  args: readonly Operand[],
  overload: string,
) => CallEstimate | undefined;

const cost = (range: Range, resultSize?: Range): CallEstimate =>
  resultSize === undefined ? { cost: range } : { cost: range, resultSize };
const constant =
  (value: number): Estimate =>
  () =>
    cost(fixed(value));

const onTarget =
  (run: (sizeOf: SizeOf, target: Operand, args: readonly Operand[]) => CallEstimate): Estimate =>
  (sizeOf, target, args) =>
    target === undefined ? undefined : run(sizeOf, target, args);

/** Estimates a traversal of the first argument. */
const ofArgument =
  (factor: number, keepsSize = false): Estimate =>
  (sizeOf, _target, [arg]) => {
    if (arg === undefined) return undefined;
    const size = sizeOf(arg);
    return cost(scale(size, factor), keepsSize ? size : undefined);
  };

const ofTarget = onTarget((sizeOf, target) => {
  const size = sizeOf(target);
  return cost(scale(size, TRAVERSAL), size);
});

/** The elements of a list. Their sizes may be known from the declared type. */
function elements(list: Operand): Operand | undefined {
  const type: Type | undefined = list.type?.params[0];
  if (type === undefined) return undefined;
  return {
    path: list.path === undefined ? undefined : [...list.path, '@items'],
    type,
    expr: undefined,
    size: undefined,
  };
}

/** Estimates a traversal of all elements, including the text of string elements, or of a string. */
const search = onTarget((sizeOf, target) => {
  const item = elements(target);
  if (item === undefined) return cost(scale(sizeOf(target), TRAVERSAL));
  const isText = item.type?.kind === 'string' || item.type?.kind === 'bytes';
  const each = isText ? add(ONE, scale(sizeOf(item), TRAVERSAL)) : ONE;
  return cost(multiply(sizeOf(target), each));
});

/** Estimates `replace` from the minimum and maximum number of replacements and size of the text that is kept. */
const replace = onTarget((sizeOf, target, args) => {
  const size = sizeOf(target);
  const old = args[0] === undefined ? size : sizeOf(args[0]);
  const replacement = args[1] === undefined ? size : sizeOf(args[1]);
  const count = { min: 0, max: 0 };
  const kept = { min: 0, max: 0 };
  if (old.min === 0) {
    count.max = Math.min(size.max + 1, UNBOUNDED);
    kept.max = size.max;
  } else if (replacement.max <= old.min) kept.max = size.max;
  else count.max = Math.ceil(size.max / old.min);
  if (old.max === 0) {
    count.min = Math.min(size.min + 1, UNBOUNDED);
    kept.min = size.min;
  } else if (old.max <= replacement.min) kept.min = size.min;
  else count.min = Math.ceil(size.min / old.max);
  return cost(scale(size, 2 * TRAVERSAL), add(multiply(count, replacement), kept));
});

const split = onTarget((sizeOf, target, args) => {
  const size = sizeOf(target);
  let max = size.max;
  const limit = args[1]?.expr;
  if (limit?.kind === 'literal' && (typeof limit.value === 'number' || typeof limit.value === 'bigint')) {
    max = limit.value < 0 ? UNBOUNDED : Number(limit.value);
  }
  return cost(scale(size, 2 * TRAVERSAL), { min: 0, max });
});

const join = onTarget((sizeOf, target, args) => {
  const list = sizeOf(target);
  const item = elements(target);
  let size = item === undefined ? fixed(0) : multiply(list, sizeOf(item));
  if (args[0] !== undefined) {
    const separators = { min: Math.max(0, list.min - 1), max: Math.max(0, list.max - 1) };
    size = add(size, multiply(sizeOf(args[0]), separators));
  }
  return cost(scale(size, TRAVERSAL), size);
});

const regexCost = (text: Range, pattern: Range): Range =>
  multiply(scale(add(text, ONE), TRAVERSAL), scale(pattern, REGEX));

const find = onTarget((sizeOf, target, args) => {
  const size = sizeOf(target);
  const pattern = args[0] === undefined ? fixed(0) : sizeOf(args[0]);
  return cost(regexCost(size, pattern), { min: 0, max: size.max });
});

const selector: Estimate = (sizeOf, _target, [arg]) => {
  if (arg === undefined) return undefined;
  const size = sizeOf(arg);
  const requirements = scale(scale(size, 0.5), LIST_BASE + STRUCT_BASE);
  return cost(add(add(fixed(LIST_BASE), scale(size, TRAVERSAL)), requirements));
};

const ADDRESS: Range = { min: 4, max: 16 };

const containment =
  (text: string, extra: boolean): Estimate =>
  (sizeOf, _target, [arg], overload) => {
    let range = scale(add(ADDRESS, ADDRESS), TRAVERSAL);
    if (extra) range = add(add(range, scale(ADDRESS, TRAVERSAL)), ONE);
    if (overload === text && arg !== undefined) range = add(range, scale(sizeOf(arg), TRAVERSAL));
    return cost(range);
  };

const equality: Estimate = (_sizeOf, _target, [left, right]) => {
  const type = left?.type;
  if (type === undefined || right?.type === undefined || !type.equals(right.type)) return undefined;
  switch (type.name) {
    case 'net.IP':
    case 'net.CIDR':
    case 'kubernetes.Quantity':
    case 'kubernetes.Semver':
    case 'kubernetes.authorization.Authorizer':
    case 'kubernetes.authorization.PathCheck':
    case 'kubernetes.authorization.GroupCheck':
    case 'kubernetes.authorization.ResourceCheck':
    case 'kubernetes.authorization.Decision':
      return cost(ONE);
    case 'kubernetes.NamedFormat':
      return cost(scale({ min: 1, max: MAX_FORMAT }, TRAVERSAL));
    case 'kubernetes.URL':
      return cost(scale({ min: 1, max: right.size === undefined ? 1 : union(right.size, right.size).max }, TRAVERSAL));
    default:
      return undefined;
  }
};

/** The estimates of Kubernetes' functions, by name. */
const BY_NAME = new Map<string, Estimate>([
  ['check', constant(AUTHORIZATION)],
  ['fieldSelector', selector],
  ['labelSelector', selector],
  ['url', ofArgument(TRAVERSAL, true)],
  ['jsonpatch.escapeKey', ofArgument(TRAVERSAL, true)],
  ['replace', replace],
  ['split', split],
  ['join', join],
  ['find', find],
  ['findAll', find],
  ['ip.isCanonical', ofArgument(2 * TRAVERSAL)],
  [
    'ip',
    (sizeOf, target, args, overload) =>
      overload === 'cidr_ip' ? cost(ONE) : ofArgument(TRAVERSAL)(sizeOf, target, args, overload),
  ],
  ['containsIP', containment('cidr_contains_ip_string', false)],
  ['containsCIDR', containment('cidr_contains_cidr_string', true)],
  [
    'validate',
    (sizeOf, _target, [arg]) =>
      arg === undefined ? undefined : cost(scale(scale(sizeOf(arg), TRAVERSAL), MAX_FORMAT_REGEX * REGEX)),
  ],
  ['format.named', constant(1)],
  ['_==_', equality],
]);
for (const name of ['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf']) BY_NAME.set(name, search);
for (const name of ['lowerAscii', 'upperAscii', 'substring', 'trim']) BY_NAME.set(name, ofTarget);
for (const name of ['cidr', 'isIP', 'isCIDR', 'quantity', 'isQuantity', 'semver', 'isSemver'])
  BY_NAME.set(name, ofArgument(TRAVERSAL));
for (const name of [
  'serviceAccount',
  'path',
  'group',
  'resource',
  'subresource',
  'namespace',
  'name',
  'allowed',
  'reason',
  'error',
  'errored',
  'masked',
  'prefixLength',
  'family',
  'isUnspecified',
  'isLoopback',
  'isLinkLocalMulticast',
  'isLinkLocalUnicast',
  'isGlobalUnicast',
  'sign',
  'asInteger',
  'isInteger',
  'asApproximateFloat',
  'isGreaterThan',
  'isLessThan',
  'compareTo',
  'add',
  'sub',
  'major',
  'minor',
  'patch',
  'getScheme',
  'getHostname',
  'getHost',
  'getPort',
  'getEscapedPath',
  'getQuery',
]) {
  BY_NAME.set(name, constant(1));
}

/** Estimates a call that allocates a list of the given size. */
const allocating = (factor: number, size: Range): CallEstimate =>
  cost(add(add(scale(size, factor), ONE), fixed(LIST_BASE)), size);

/** Returns the value of an unsigned integer literal, or `otherwise` if the argument is not an integer literal. */
function literalOr(operand: Operand | undefined, otherwise: number): number {
  const expr = operand?.expr;
  if (expr?.kind !== 'literal' || (typeof expr.value !== 'number' && typeof expr.value !== 'bigint')) return otherwise;
  return Math.max(0, Number(expr.value));
}

const slice = onTarget((sizeOf, target, args) => {
  const length = literalOr(args[1], sizeOf(target).max) - literalOr(args[0], 0);
  return allocating(1, fixed(length < 0 ? UNBOUNDED + length : length));
});
const sort = (list: Operand, sizeOf: SizeOf, type: string): CallEstimate => {
  const size = sizeOf(list);
  return allocating(type === 'string' || type === 'bytes' ? 2 + TRAVERSAL : 2, multiply(size, size));
};
const sets =
  (factor: number): Estimate =>
  (sizeOf, _target, [left, right]) =>
    left === undefined || right === undefined
      ? undefined
      : cost(add(scale(multiply(sizeOf(left), sizeOf(right)), factor), ONE));

const smaller: Estimate = (_sizeOf, _target, [left, right]) => {
  const max = Math.min(left?.size?.max ?? UNBOUNDED, right?.size?.max ?? UNBOUNDED);
  return cost(scale({ min: max > 0 ? 1 : 0, max }, TRAVERSAL));
};
const known = (operand: Operand): Range => operand.size ?? { min: 0, max: UNBOUNDED };

/** The estimates of the language's extensions, by overload. They take precedence over those by name. */
const BY_OVERLOAD = new Map<string, Estimate>([
  ['list_slice', slice],
  ['lists_range', (_sizeOf, _target, [count]) => allocating(1, fixed(literalOr(count, UNBOUNDED)))],
  ['list_reverse', onTarget((sizeOf, target) => allocating(1, sizeOf(target)))],
  ['list_flatten', onTarget((sizeOf, target) => allocating(1, sizeOf(target)))],
  ['list_flatten_int', onTarget((sizeOf, target, [depth]) => allocating(literalOr(depth, UNBOUNDED), sizeOf(target)))],
  ['list_distinct', onTarget((sizeOf, target) => allocating(2, multiply(sizeOf(target), sizeOf(target))))],
  ['list_sets_contains_list', sets(1)],
  ['list_sets_intersects_list', sets(1)],
  ['list_sets_equivalent_list', sets(2)],
]);

/** The estimates of the standard functions, by overload. Those by name take precedence. */
const STANDARD = new Map<string, Estimate>([
  ['string_format', onTarget((_sizeOf, target) => cost(scale(known(target), TRAVERSAL)))],
  [
    'string_to_bytes',
    (_sizeOf, _target, [arg]) => {
      const size = known(arg ?? NO_OPERAND);
      return cost(scale(size, TRAVERSAL), { min: size.min, max: Math.min(size.max * 4, UNBOUNDED) });
    },
  ],
  [
    'bytes_to_string',
    (_sizeOf, _target, [arg]) => {
      const size = known(arg ?? NO_OPERAND);
      return cost(scale(size, TRAVERSAL), { min: Math.floor(size.min / 4), max: size.max });
    },
  ],
  [
    'strings_quote',
    (_sizeOf, _target, [arg]) => {
      const size = known(arg ?? NO_OPERAND);
      // cel-go's arithmetic overflows here, so that an unknown size becomes 0.
      const max = size.max >= UNBOUNDED ? 0 : Math.min(size.max * 2 + 2, UNBOUNDED);
      return cost(scale(size, TRAVERSAL), { min: size.min + 2, max });
    },
  ],
  [
    'starts_with_string',
    (_sizeOf, _target, [arg]) => (arg === undefined ? undefined : cost(scale(known(arg), TRAVERSAL))),
  ],
  [
    'ends_with_string',
    (_sizeOf, _target, [arg]) => (arg === undefined ? undefined : cost(scale(known(arg), TRAVERSAL))),
  ],
  ['in_list', (_sizeOf, _target, [, list]) => (list === undefined ? undefined : cost(known(list)))],
  [
    'matches_string',
    (_sizeOf, target, [pattern]) =>
      target === undefined || pattern === undefined ? undefined : cost(regexCost(known(target), known(pattern))),
  ],
  [
    'contains_string',
    (_sizeOf, target, [part]) =>
      target === undefined || part === undefined
        ? undefined
        : cost(multiply(scale(known(target), TRAVERSAL), scale(known(part), TRAVERSAL))),
  ],
  ['equals', smaller],
  ['not_equals', smaller],
]);
for (const order of ['less', 'greater', 'less_equals', 'greater_equals']) {
  for (const type of ['string', 'bytes']) STANDARD.set(`${order}_${type}`, smaller);
}

const NO_OPERAND: Operand = { path: undefined, type: DYN, expr: undefined, size: undefined };

/** Estimates a call, not counting the evaluation of its arguments. Undefined means a cost of 1. */
export function estimateCall(
  name: string,
  overload: string,
  target: Operand | undefined,
  args: readonly Operand[],
  sizeOf: SizeOf,
): CallEstimate | undefined {
  const sorted = /^list_(.*)_sort(ByAssociatedKeys)?$/.exec(overload);
  const list = sorted?.[2] === undefined ? target : args[0];
  if (sorted !== null && list !== undefined) return sort(list, sizeOf, sorted[1] ?? '');
  return (
    BY_OVERLOAD.get(overload)?.(sizeOf, target, args, overload) ??
    BY_NAME.get(name)?.(sizeOf, target, args, overload) ??
    STANDARD.get(overload)?.(sizeOf, target, args, overload)
  );
}
