import type { Expr } from '../ast.js';
import { isInteger } from '../values/integer.js';
import type { Type } from '../types.js';
import { AUTHORIZATION, LIST_BASE, REGEX, STRUCT_BASE, TRAVERSAL } from './runtime.js';

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

const MAX_FORMAT = 64;
const MAX_FORMAT_REGEX = 128;
const ONE = fixed(1);

/** A call to estimate. */
export interface EstimatedCall {
  readonly name: string;
  readonly overload: string;
  readonly target: Operand | undefined;
  readonly args: readonly Operand[];
  readonly sizeOf: (operand: Operand) => Range;
}

/** Estimates a call. Returns undefined if the function has no estimate of its own for these arguments. */
type Estimate = (call: EstimatedCall) => CallEstimate | undefined;

const cost = (range: Range, resultSize?: Range): CallEstimate =>
  resultSize === undefined ? { cost: range } : { cost: range, resultSize };
const constant =
  (value: number): Estimate =>
  () =>
    cost(fixed(value));

const onTarget =
  (run: (target: Operand, call: EstimatedCall) => CallEstimate): Estimate =>
  (call) =>
    call.target === undefined ? undefined : run(call.target, call);

const onArgument =
  (run: (arg: Operand, call: EstimatedCall) => CallEstimate): Estimate =>
  (call) =>
    call.args[0] === undefined ? undefined : run(call.args[0], call);

/** Estimates a traversal of the first argument. */
const ofArgument = onArgument((arg, { sizeOf }) => cost(scale(sizeOf(arg), TRAVERSAL)));
/** Estimates a traversal whose result is as large as the operand. */
const ofArgumentAsResult = onArgument((arg, { sizeOf }) => cost(scale(sizeOf(arg), TRAVERSAL), sizeOf(arg)));
const ofTargetAsResult = onTarget((target, { sizeOf }) => cost(scale(sizeOf(target), TRAVERSAL), sizeOf(target)));

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
const search = onTarget((target, { sizeOf }) => {
  const item = elements(target);
  if (item === undefined) return cost(scale(sizeOf(target), TRAVERSAL));
  const isText = item.type?.kind === 'string' || item.type?.kind === 'bytes';
  const each = isText ? add(ONE, scale(sizeOf(item), TRAVERSAL)) : ONE;
  return cost(multiply(sizeOf(target), each));
});

/** Estimates `replace` from the minimum and maximum number of replacements and size of the text that is kept. */
const replace = onTarget((target, { args, sizeOf }) => {
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

const split = onTarget((target, { args, sizeOf }) => {
  const size = sizeOf(target);
  let max = size.max;
  const limit = args[1]?.expr;
  if (limit?.kind === 'literal' && isInteger(limit.value)) {
    max = limit.value < 0 ? UNBOUNDED : Number(limit.value);
  }
  return cost(scale(size, 2 * TRAVERSAL), { min: 0, max });
});

const join = onTarget((target, { args, sizeOf }) => {
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

const find = onTarget((target, { args, sizeOf }) => {
  const size = sizeOf(target);
  const pattern = args[0] === undefined ? fixed(0) : sizeOf(args[0]);
  return cost(regexCost(size, pattern), { min: 0, max: size.max });
});

const selector = onArgument((arg, { sizeOf }) => {
  const size = sizeOf(arg);
  const requirements = scale(scale(size, 0.5), LIST_BASE + STRUCT_BASE);
  return cost(add(add(fixed(LIST_BASE), scale(size, TRAVERSAL)), requirements));
});

const ADDRESS: Range = { min: 4, max: 16 };

/** Estimates `containsIP` and `containsCIDR`. */
const containment: Estimate = ({ name, overload, args: [arg], sizeOf }) => {
  let range = scale(add(ADDRESS, ADDRESS), TRAVERSAL);
  if (name === 'containsCIDR') range = add(add(range, scale(ADDRESS, TRAVERSAL)), ONE);
  if (overload.endsWith('_string') && arg !== undefined) range = add(range, scale(sizeOf(arg), TRAVERSAL));
  return cost(range);
};

const equality: Estimate = ({ args: [left, right] }) => {
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
      return cost(scale({ min: 1, max: right.size?.max ?? 1 }, TRAVERSAL));
    default:
      return undefined;
  }
};

/** The estimates of Kubernetes' functions, by name. */
const BY_NAME = new Map<string, Estimate>([
  ['check', constant(AUTHORIZATION)],
  ['fieldSelector', selector],
  ['labelSelector', selector],
  ['url', ofArgumentAsResult],
  ['jsonpatch.escapeKey', ofArgumentAsResult],
  ['replace', replace],
  ['split', split],
  ['join', join],
  ['find', find],
  ['findAll', find],
  ['ip.isCanonical', onArgument((arg, { sizeOf }) => cost(scale(sizeOf(arg), 2 * TRAVERSAL)))],
  ['ip', (call) => (call.overload === 'cidr_ip' ? cost(ONE) : ofArgument(call))],
  ['containsIP', containment],
  ['containsCIDR', containment],
  ['validate', onArgument((arg, { sizeOf }) => cost(scale(scale(sizeOf(arg), TRAVERSAL), MAX_FORMAT_REGEX * REGEX)))],
  ['format.named', constant(1)],
  ['_==_', equality],
]);
for (const name of ['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf']) BY_NAME.set(name, search);
// The target need not be a list, but in the worst case it is one.
BY_NAME.set('includes', (call) =>
  call.target !== undefined && elements(call.target) === undefined ? cost(call.sizeOf(call.target)) : search(call),
);
for (const name of ['lowerAscii', 'upperAscii', 'substring', 'trim']) BY_NAME.set(name, ofTargetAsResult);
for (const name of ['cidr', 'isIP', 'isCIDR', 'quantity', 'isQuantity', 'semver', 'isSemver'])
  BY_NAME.set(name, ofArgument);
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
  if (expr?.kind !== 'literal' || !isInteger(expr.value)) return otherwise;
  return Math.max(0, Number(expr.value));
}

const slice = onTarget((target, { args, sizeOf }) => {
  const length = literalOr(args[1], sizeOf(target).max) - literalOr(args[0], 0);
  return allocating(1, fixed(length < 0 ? UNBOUNDED + length : length));
});
function sort(size: Range, type: string): CallEstimate {
  return allocating(type === 'string' || type === 'bytes' ? 2 + TRAVERSAL : 2, multiply(size, size));
}
const sets =
  (factor: number): Estimate =>
  ({ args: [left, right], sizeOf }) =>
    left === undefined || right === undefined
      ? undefined
      : cost(add(scale(multiply(sizeOf(left), sizeOf(right)), factor), ONE));

const smaller: Estimate = ({ args: [left, right] }) => {
  const max = Math.min(left?.size?.max ?? UNBOUNDED, right?.size?.max ?? UNBOUNDED);
  return cost(scale({ min: max > 0 ? 1 : 0, max }, TRAVERSAL));
};
const known = (operand: Operand): Range => operand.size ?? UNKNOWN;
const ofKnownArgument = onArgument((arg) => cost(scale(known(arg), TRAVERSAL)));

/** The estimates of the language's extensions, by overload. They take precedence over those by name. */
const BY_OVERLOAD = new Map<string, Estimate>([
  ['list_slice', slice],
  ['lists_range', ({ args: [count] }) => allocating(1, fixed(literalOr(count, UNBOUNDED)))],
  ['list_reverse', onTarget((target, { sizeOf }) => allocating(1, sizeOf(target)))],
  ['list_flatten', onTarget((target, { sizeOf }) => allocating(1, sizeOf(target)))],
  [
    'list_flatten_int',
    onTarget((target, { args: [depth], sizeOf }) => allocating(literalOr(depth, UNBOUNDED), sizeOf(target))),
  ],
  ['list_distinct', onTarget((target, { sizeOf }) => allocating(2, multiply(sizeOf(target), sizeOf(target))))],
  ['list_sets_contains_list', sets(1)],
  ['list_sets_intersects_list', sets(1)],
  ['list_sets_equivalent_list', sets(2)],
]);

/** The estimates of the standard functions, by overload. Those by name take precedence. */
const STANDARD = new Map<string, Estimate>([
  ['string_format', onTarget((target) => cost(scale(known(target), TRAVERSAL)))],
  [
    'string_to_bytes',
    onArgument((arg) => {
      const size = known(arg);
      return cost(scale(size, TRAVERSAL), { min: size.min, max: Math.min(size.max * 4, UNBOUNDED) });
    }),
  ],
  [
    'bytes_to_string',
    onArgument((arg) => {
      const size = known(arg);
      return cost(scale(size, TRAVERSAL), { min: Math.floor(size.min / 4), max: size.max });
    }),
  ],
  [
    'strings_quote',
    onArgument((arg) => {
      const size = known(arg);
      // cel-go's arithmetic overflows here, so that an unknown size becomes 0.
      const max = size.max >= UNBOUNDED ? 0 : Math.min(size.max * 2 + 2, UNBOUNDED);
      return cost(scale(size, TRAVERSAL), { min: size.min + 2, max });
    }),
  ],
  ['starts_with_string', ofKnownArgument],
  ['ends_with_string', ofKnownArgument],
  ['in_list', ({ args: [, list] }) => (list === undefined ? undefined : cost(known(list)))],
  [
    'matches_string',
    ({ target, args: [pattern] }) =>
      target === undefined || pattern === undefined ? undefined : cost(regexCost(known(target), known(pattern))),
  ],
  [
    'matches',
    ({ args: [text, pattern] }) =>
      text === undefined || pattern === undefined ? undefined : cost(regexCost(known(text), known(pattern))),
  ],
  [
    'contains_string',
    ({ target, args: [part] }) =>
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

/** Estimates a call, not counting the evaluation of its arguments. Undefined means a cost of 1. */
export function estimateCall(call: EstimatedCall): CallEstimate | undefined {
  const { name, overload, target, args, sizeOf } = call;
  const [, type = '', byKeys] = /^list_(.*)_sort(ByAssociatedKeys)?$/.exec(overload) ?? [];
  const sorted = byKeys === undefined ? target : args[0];
  if (type !== '' && sorted !== undefined) return sort(sizeOf(sorted), type);
  return BY_OVERLOAD.get(overload)?.(call) ?? BY_NAME.get(name)?.(call) ?? STANDARD.get(overload)?.(call);
}
