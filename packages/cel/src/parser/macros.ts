import type { Call, Comprehension, Expr, Ident, ListExpr, Literal } from '../ast.js';
import { ACCUMULATOR, NO_OPTIONALS, copyExpr, walk } from '../ast.js';
import type { Value } from '../values/value.js';

/** A macro that cannot be expanded. `at` is the position that the message refers to. */
export class MacroError extends Error {
  constructor(
    readonly at: number,
    message: string,
  ) {
    super(message);
  }
}

/** Expands a call into an expression, or returns undefined to leave the call as it is. `offset` is the position of the call. */
export type Macro = (offset: number, target: Expr | undefined, args: readonly Expr[]) => Expr | undefined;
/** Macros by name, number of arguments, and whether there is a receiver: `all:2:true`. */
export type Macros = ReadonlyMap<string, Macro>;

export const macroKey = (name: string, args: number, receiver: boolean): string => `${name}:${args}:${receiver}`;

const literal = (offset: number, value: Value): Literal => ({ kind: 'literal', offset, value });
const ident = (offset: number, name: string): Ident => ({ kind: 'ident', offset, name });
const accu = (offset: number): Ident => ident(offset, ACCUMULATOR);
const list = (offset: number, ...elements: Expr[]): ListExpr => ({
  kind: 'list',
  offset,
  elements,
  optional: NO_OPTIONALS,
  synthetic: true,
});
const call = (offset: number, name: string, ...args: Expr[]): Call => ({
  kind: 'call',
  offset,
  name,
  target: undefined,
  args,
});
const member = (offset: number, name: string, target: Expr): Call => ({ kind: 'call', offset, name, target, args: [] });

/** Binds a name to a value in `result`: a loop over an empty range, with the value as the accumulator. */
export const binding = (offset: number, name: string, value: Expr, result: Expr): Comprehension => ({
  kind: 'comprehension',
  offset,
  range: list(offset),
  iterVar: '#unused',
  iterVar2: undefined,
  accuVar: name,
  accuInit: value,
  condition: literal(offset, false),
  step: ident(offset, name),
  result,
});

type Loop = Pick<Comprehension, 'accuInit' | 'condition' | 'step' | 'result'>;

function fold(offset: number, range: Expr, vars: readonly string[], loop: Loop): Comprehension {
  return {
    kind: 'comprehension',
    offset,
    range,
    iterVar: vars[0] ?? '',
    iterVar2: vars[1],
    accuVar: ACCUMULATOR,
    ...loop,
  };
}

/** Returns the names of the loop variables. `wanted` is the error message for an argument that is not a plain name. */
function loopVariables(args: readonly Expr[], count: number, wanted: string): string[] {
  const names: string[] = [];
  for (const arg of args.slice(0, count)) {
    if (arg.kind !== 'ident' || arg.name.startsWith('.')) throw new MacroError(arg.offset, wanted);
    if (names.includes(arg.name)) throw new MacroError(arg.offset, `duplicate variable name: ${arg.name}`);
    names.push(arg.name);
  }
  names.forEach((name, i) => {
    if (name === '__result__') {
      throw new MacroError(args[i]?.offset ?? 0, 'iteration variable overwrites accumulator variable');
    }
  });
  return names;
}

const SIMPLE_NAME = 'argument must be a simple name';

type Body = (offset: number, predicate: Expr) => Loop;

const all: Body = (at, predicate) => ({
  accuInit: literal(at, true),
  condition: call(at, '@not_strictly_false', accu(at)),
  step: call(at, '_&&_', accu(at), predicate),
  result: accu(at),
});
const exists: Body = (at, predicate) => ({
  accuInit: literal(at, false),
  condition: call(at, '@not_strictly_false', call(at, '!_', accu(at))),
  step: call(at, '_||_', accu(at), predicate),
  result: accu(at),
});
const existsOne: Body = (at, predicate) => ({
  accuInit: literal(at, 0),
  condition: literal(at, true),
  step: call(at, '_?_:_', predicate, call(at, '_+_', accu(at), literal(at, 1)), accu(at)),
  result: call(at, '_==_', accu(at), literal(at, 1)),
});

function quantifier(variables: number, body: Body): Macro {
  return (offset, target, args) => {
    const predicate = args[variables];
    if (target === undefined || predicate === undefined) return undefined;
    return fold(offset, target, loopVariables(args, variables, SIMPLE_NAME), body(offset, predicate));
  };
}

/** Makes a macro that collects values: `add` adds the last argument to the accumulator. An extra argument before it is a filter. */
function gather(
  variables: number,
  wanted: string,
  init: (at: number) => Expr,
  add: (at: number, item: Expr, key: string) => Expr,
): Macro {
  return (offset, target, args) => {
    const item = args.at(-1);
    if (target === undefined || item === undefined) return undefined;
    const names = loopVariables(args, variables, wanted);
    const filter = args.length === variables + 2 ? args[variables] : undefined;
    const added = add(offset, item, names[0] ?? '');
    return fold(offset, target, names, {
      accuInit: init(offset),
      condition: literal(offset, true),
      step: filter === undefined ? added : call(offset, '_?_:_', filter, added, accu(offset)),
      result: accu(offset),
    });
  };
}

const append = (at: number, item: Expr): Expr => call(at, '_+_', accu(at), list(at, item));
const emptyMap = (at: number): Expr => ({ kind: 'map', offset: at, entries: [] });
const NO_IDENTIFIER = 'argument is not an identifier';

const filter: Macro = (offset, target, args) => {
  const [name, predicate] = args;
  if (target === undefined || name === undefined || predicate === undefined) return undefined;
  return fold(offset, target, loopVariables(args, 1, NO_IDENTIFIER), {
    accuInit: list(offset),
    condition: literal(offset, true),
    step: call(offset, '_?_:_', predicate, append(offset, name), accu(offset)),
    result: accu(offset),
  });
};

const has: Macro = (offset, _target, args) => {
  const [arg] = args;
  if (arg?.kind !== 'select') throw new MacroError(arg?.offset ?? offset, 'invalid argument to has() macro');
  return { kind: 'select', offset, operand: arg.operand, field: arg.field, test: true };
};

/** The maximum number of nodes in the receiver. The expansion contains the receiver twice, so chains of these macros grow exponentially. */
const MAX_COPIED_NODES = 10_000;

function isTooLarge(target: Expr): boolean {
  let nodes = 0;
  walk(target, () => {
    nodes++;
  });
  return nodes > MAX_COPIED_NODES;
}

/** `optMap`, whose body is a plain value, and `optFlatMap`, whose body is an optional. */
function optionalMap(name: 'optMap' | 'optFlatMap'): Macro {
  return (offset, target, args) => {
    const [variable, body] = args;
    if (target === undefined || variable === undefined || body === undefined) return undefined;
    if (variable.kind !== 'ident') {
      throw new MacroError(variable.offset, `${name}() variable name must be a simple identifier`);
    }
    if (isTooLarge(target)) throw new MacroError(offset, `${name}() target is too large`);
    const bind = binding(offset, variable.name, member(offset, 'value', copyExpr(target)), body);
    return call(
      offset,
      '_?_:_',
      member(offset, 'hasValue', target),
      name === 'optMap' ? call(offset, 'optional.of', bind) : bind,
      call(offset, 'optional.none'),
    );
  };
}

export const STANDARD_MACROS: Macros = new Map<string, Macro>([
  ['has:1:false', has],
  ['all:2:true', quantifier(1, all)],
  ['exists:2:true', quantifier(1, exists)],
  ['exists_one:2:true', quantifier(1, existsOne)],
  ['map:2:true', gather(1, NO_IDENTIFIER, list, append)],
  ['map:3:true', gather(1, NO_IDENTIFIER, list, append)],
  ['filter:2:true', filter],
]);

export const OPTIONAL_MACROS: Macros = new Map<string, Macro>([
  ['optMap:2:true', optionalMap('optMap')],
  ['optFlatMap:2:true', optionalMap('optFlatMap')],
]);

const insertKey = (at: number, item: Expr, key: string): Expr =>
  call(at, 'cel.@mapInsert', accu(at), ident(at, key), item);
const insertEntry = (at: number, item: Expr): Expr => call(at, 'cel.@mapInsert', accu(at), item);
const transformList = gather(2, SIMPLE_NAME, list, append);
const transformMap = gather(2, SIMPLE_NAME, emptyMap, insertKey);
const transformEntry = gather(2, SIMPLE_NAME, emptyMap, insertEntry);

export const TWO_VARIABLE_MACROS: Macros = new Map<string, Macro>([
  ['all:3:true', quantifier(2, all)],
  ['exists:3:true', quantifier(2, exists)],
  ['existsOne:3:true', quantifier(2, existsOne)],
  ['exists_one:3:true', quantifier(2, existsOne)],
  ['transformList:3:true', transformList],
  ['transformList:4:true', transformList],
  ['transformMap:3:true', transformMap],
  ['transformMap:4:true', transformMap],
  ['transformMapEntry:3:true', transformEntry],
  ['transformMapEntry:4:true', transformEntry],
]);
