import { type Call, children, type Expr, type ListExpr, type MapExpr, walk } from '../ast.js';
import { toTimestamp } from '../values/conversions.js';
import { compileRegex } from '../library/regex.js';
import type { Issue } from '../source.js';
import { DYN, isOptional, type Type, type TypeKind } from '../types.js';
import { isTimestamp, parseDuration } from '../values/time.js';
import { CelError, type Value } from '../values/value.js';

export interface ValidatorOptions {
  /** Reject durations, timestamps, patterns and formats that are bound to fail. */
  readonly literals: boolean;
  /** Reject lists and maps with elements of more than one type. */
  readonly homogeneous: boolean;
}

/** Reports expressions that pass type checking but are rejected all the same. */
export function validate(expr: Expr, options: ValidatorOptions): Issue[] {
  const issues: Issue[] = [];
  if (options.homogeneous) checkAggregates(expr, issues);
  if (!options.literals) return issues;
  for (const name of LITERALS.keys()) {
    walk(expr, (node) => {
      if (node.kind === 'call' && node.name === name) checkLiteral(node, issues);
    });
  }
  walk(expr, (node) => {
    if (node.kind === 'call' && node.name === 'format') checkFormat(node, issues);
  });
  return issues;
}

type Accepts = (value: Value) => boolean;
const forText =
  (accepts: (text: string) => boolean): Accepts =>
  (value) =>
    typeof value !== 'string' || accepts(value);

const LITERALS = new Map<string, Accepts>([
  ['duration', forText((text) => parseDuration(text) !== undefined)],
  [
    'timestamp',
    (value) => (typeof value === 'string' ? isTimestamp(value) : !(toTimestamp(value) instanceof CelError)),
  ],
  ['matches', forText((text) => typeof compileRegex(text) !== 'string')],
]);

function checkLiteral(call: Call, issues: Issue[]): void {
  const [arg] = call.args;
  if (arg?.kind !== 'literal') return;
  if (LITERALS.get(call.name)?.(arg.value) !== false) return;
  issues.push({ offset: arg.offset, message: `invalid ${call.name} argument` });
}

// --- homogeneous lists and maps

function checkAggregates(expr: Expr, issues: Issue[]): void {
  walkOutsideFormat(expr, (node) => {
    if (node.kind === 'list') checkList(node, issues);
  });
  walkOutsideFormat(expr, (node) => {
    if (node.kind === 'map') checkMap(node, issues);
  });
}

/** Visits a node and its descendants, except for the arguments of `format`. */
function walkOutsideFormat(expr: Expr, visit: (expr: Expr) => void): void {
  if (expr.kind === 'call' && expr.name === 'format') return;
  visit(expr);
  for (const child of children(expr)) walkOutsideFormat(child, visit);
}

const typeOf = (expr: Expr): Type => expr.type ?? DYN;

const contentType = (expr: Expr, optional: boolean): Type => {
  const type = typeOf(expr);
  return optional && isOptional(type) ? type.elem : type;
};

function mismatch(at: Expr, expected: Type, found: Type): Issue {
  return { offset: at.offset, message: `expected type '${expected.toString()}' but found '${found.toString()}'` };
}

function checkList(list: ListExpr, issues: Issue[]): void {
  let first: Type | undefined;
  for (const [i, element] of list.elements.entries()) {
    const type = contentType(element, list.optional.has(i));
    first ??= type;
    if (first.equals(type)) continue;
    issues.push(mismatch(element, first, type));
    return;
  }
}

function checkMap(map: MapExpr, issues: Issue[]): void {
  const [head] = map.entries;
  if (head === undefined) return;
  const key = typeOf(head.key);
  const value = contentType(head.value, head.optional);
  for (const entry of map.entries) {
    const [keyType, valueType] = [typeOf(entry.key), contentType(entry.value, entry.optional)];
    if (!key.equals(keyType)) issues.push(mismatch(entry.key, key, keyType));
    if (!value.equals(valueType)) issues.push(mismatch(entry.value, value, valueType));
  }
}

// --- format calls with literal arguments

const NUMBERS: readonly TypeKind[] = ['int', 'uint'];
const PRINTABLE: readonly TypeKind[] = [
  'list',
  'map',
  'int',
  'uint',
  'double',
  'bool',
  'string',
  'timestamp',
  'bytes',
  'duration',
  'type',
  'null',
];

interface ClauseRule {
  readonly kinds: readonly TypeKind[];
  readonly complaint: string;
}

const CLAUSES: Record<string, ClauseRule> = {
  d: { kinds: NUMBERS, complaint: 'decimal clause can only be used on integers, was given ' },
  f: { kinds: ['double', 'string'], complaint: 'fixed-point clause can only be used on doubles, was given ' },
  e: { kinds: ['double', 'string'], complaint: 'scientific clause can only be used on doubles, was given ' },
  b: { kinds: [...NUMBERS, 'bool'], complaint: 'only integers and bools can be formatted as binary, was given ' },
  x: {
    kinds: [...NUMBERS, 'string', 'bytes'],
    complaint: 'only integers, byte buffers, and strings can be formatted as hex, was given ',
  },
  o: { kinds: NUMBERS, complaint: 'octal clause can only be used on integers, was given ' },
  s: {
    kinds: PRINTABLE,
    complaint:
      'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given ',
  },
};

const isOneOf = (type: Type, kinds: readonly TypeKind[]): boolean => type.kind === 'dyn' || kinds.includes(type.kind);

/** Returns the part of an argument that a `%s` clause cannot print, if any. */
function unprintable(expr: Expr): Expr | undefined {
  if (!isOneOf(typeOf(expr), PRINTABLE)) return expr;
  if (expr.kind !== 'list' && expr.kind !== 'map') return undefined;
  for (const child of children(expr)) {
    const found = unprintable(child);
    if (found !== undefined) return found;
  }
  return undefined;
}

function checkClause(letter: string, arg: Expr): Issue | undefined {
  const rule = CLAUSES[letter === 'X' ? 'x' : letter];
  if (rule === undefined) return undefined;
  const bad = letter === 's' ? unprintable(arg) : isOneOf(typeOf(arg), rule.kinds) ? undefined : arg;
  if (bad === undefined) return undefined;
  return { offset: bad.offset, message: `error during formatting: ${rule.complaint}${typeOf(bad).name}` };
}

const CLAUSE = /%%|%(?:\.(\d*))?(.)?/gsu;

function checkFormat(call: Call, issues: Issue[]): void {
  const [args] = call.args;
  if (call.target?.kind !== 'literal' || typeof call.target.value !== 'string' || args?.kind !== 'list') return;
  const complain = (message: string): void => {
    issues.push({ offset: call.offset, message });
  };
  let used = 0;
  for (const [clause, precision, letter] of call.target.value.matchAll(CLAUSE)) {
    if (clause === '%%') continue;
    const arg = args.elements[used++];
    if (clause === '%') {
      complain(arg === undefined ? `index ${used - 1} out of range` : 'unexpected end of string');
      return;
    }
    if (arg === undefined) {
      complain(`index ${used - 1} out of range`);
      return;
    }
    const problem = clauseProblem(precision, letter);
    if (problem !== undefined) {
      complain(`could not parse formatting clause: ${problem}`);
      return;
    }
    const issue = checkClause(letter ?? '', arg);
    if (issue !== undefined) {
      issues.push(issue);
      return;
    }
  }
  if (args.elements.length > used) {
    complain(`too many arguments supplied to string.format (expected ${used}, got ${args.elements.length})`);
  }
}

function clauseProblem(precision: string | undefined, letter: string | undefined): string | undefined {
  const prefix = 'error while parsing precision: ';
  if (letter === undefined) return `${prefix}could not find end of precision specifier`;
  if (precision === '')
    return `${prefix}error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax`;
  return CLAUSES[letter === 'X' ? 'x' : letter] === undefined
    ? `unrecognized formatting clause "${letter}"`
    : undefined;
}
