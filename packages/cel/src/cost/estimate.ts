import type { Call, Comprehension, Expr, ListExpr, MapExpr, Select } from '../ast.js';
import { ACCUMULATOR } from '../ast.js';
import type { DeclType } from '../schema/decl-type.js';
import { isOptional, type Type } from '../types.js';
import { codePointLength } from '../values/text.js';
import type { CallEstimate, Operand, Range } from './functions.js';
import { estimateCall, NOTHING, UNBOUNDED, UNKNOWN, add, fixed, multiply, union } from './functions.js';
import * as runtime from './runtime.js';

const LIST_BASE = fixed(runtime.LIST_BASE);
const MAP_BASE = fixed(runtime.MAP_BASE);
const STRUCT_BASE = fixed(runtime.STRUCT_BASE);
const ONE = fixed(1);

/** The sizes of the keys and values of a list or map. */
interface EntrySizes {
  readonly kind: 'list' | 'map';
  readonly key: Range;
  readonly value: Range;
}

interface Local {
  readonly path: readonly string[];
  readonly size: Range | undefined;
  readonly entries: EntrySizes | undefined;
}

/** Returns the declared type of a variable. Variables without one have no known sizes. */
export type VariableTypes = (name: string) => DeclType | undefined;

function scalarSize(type: Type | undefined): Range | undefined {
  switch (type?.kind) {
    case 'bool':
    case 'double':
    case 'duration':
    case 'int':
    case 'timestamp':
    case 'uint':
      return ONE;
    default:
      return type !== undefined && isOptional(type) ? scalarSize(type.elem) : undefined;
  }
}

function literalSize(expr: Expr): Range | undefined {
  switch (expr.kind) {
    case 'literal':
      if (typeof expr.value === 'string') return fixed(codePointLength(expr.value));
      return fixed(expr.value instanceof Uint8Array ? expr.value.length : 1);
    case 'list':
      return fixed(expr.elements.length);
    case 'map':
      return fixed(expr.entries.length);
    default:
      return undefined;
  }
}

/** Estimates the minimum and maximum cost of a checked expression. */
class Estimator {
  private readonly paths = new Map<Expr, readonly string[]>();
  private readonly sizes = new Map<Expr, Range>();
  private readonly entries = new Map<Expr, EntrySizes>();
  private readonly locals = new Map<string, Local[]>();

  constructor(private readonly variables: VariableTypes) {}

  estimate(expr: Expr): Range {
    switch (expr.kind) {
      case 'literal':
      case 'invalid':
        return NOTHING;
      case 'ident':
        return this.ident(expr, expr.name);
      case 'select':
        return this.select(expr);
      case 'call':
        return this.call(expr);
      case 'list':
        return this.list(expr);
      case 'map':
        return this.map(expr);
      case 'struct':
        return expr.fields.reduce((sum, field) => add(sum, this.estimate(field.value)), STRUCT_BASE);
      case 'comprehension':
        return isBinding(expr) ? this.binding(expr) : this.comprehension(expr);
    }
  }

  private ident(expr: Expr, name: string): Range {
    this.paths.set(expr, this.local(name)?.path ?? [name]);
    return ONE;
  }

  private select(expr: Select): Range {
    if (expr.resolved !== undefined) return this.ident(expr, expr.resolved.name);
    const operand = this.estimate(expr.operand);
    if (expr.test) return operand;
    this.paths.set(expr, [...this.path(expr.operand), expr.field]);
    const kind = expr.operand.type?.kind;
    return kind === 'map' || kind === 'struct' || kind === 'param' ? add(operand, ONE) : operand;
  }

  private call(expr: Call): Range {
    if (expr.name === 'dyn' && expr.args[0] !== undefined) return this.dyn(expr, expr.args[0]);
    const costs = expr.args.map((arg) => this.estimate(arg));
    const operands = expr.args.map((arg) => this.operand(arg));
    const overloads = expr.name === '_?._' ? ['select_optional_field'] : (expr.overloads ?? []).map(({ id }) => id);
    if (overloads.length === 0) return NOTHING;
    const targetCost = expr.target === undefined ? NOTHING : this.estimate(expr.target);
    const target = expr.target === undefined ? undefined : this.operand(expr.target);
    let cost: Range = { min: UNBOUNDED, max: 0 };
    let resultSize: Range | undefined;
    for (const overload of overloads) {
      const estimated = this.overload(expr, overload, target, operands, costs);
      cost = union(cost, estimated.cost);
      if (estimated.resultSize !== undefined) {
        resultSize = resultSize === undefined ? estimated.resultSize : union(resultSize, estimated.resultSize);
      }
      const container = expr.args[0];
      if ((overload === 'index_list' || overload === 'index_map') && container !== undefined) {
        resultSize = this.entrySizes(container)?.value;
        this.paths.set(expr, [...this.path(container), overload === 'index_list' ? '@items' : '@values']);
      }
      resultSize ??= this.size(expr);
    }
    if (resultSize !== undefined) this.sizes.set(expr, resultSize);
    return add(targetCost, cost);
  }

  private dyn(expr: Call, arg: Expr): Range {
    const cost = add(ONE, this.estimate(arg));
    this.copySizes(expr, arg);
    return cost;
  }

  private overload(
    expr: Call,
    overload: string,
    target: Operand | undefined,
    args: readonly Operand[],
    costs: readonly Range[],
  ): CallEstimate {
    const argCost = costs.reduce(add, NOTHING);
    const sizeOf = (operand: Operand): Range => this.operandSize(operand);
    const known = estimateCall({ name: expr.name, overload, target, args, sizeOf });
    if (known !== undefined) return { ...known, cost: add(known.cost, argCost) };
    switch (overload) {
      case 'logical_or':
      case 'logical_and':
        return { cost: { min: costs[0]?.min ?? 0, max: argCost.max } };
      case 'conditional':
        return this.conditional(expr, args, costs);
      case 'add_string':
      case 'add_bytes':
      case 'add_list':
        return this.concatenation(expr, overload, args, argCost);
      default:
        return { cost: add(ONE, argCost) };
    }
  }

  private conditional(expr: Call, args: readonly Operand[], costs: readonly Range[]): CallEstimate {
    const [, yes, no] = args;
    const entries = unionEntries(this.entriesOf(yes), this.entriesOf(no));
    if (entries !== undefined) this.entries.set(expr, entries);
    const [test = NOTHING, whenTrue = NOTHING, whenFalse = NOTHING] = costs;
    return {
      cost: add(test, union(whenTrue, whenFalse)),
      resultSize: union(yes?.size ?? UNKNOWN, no?.size ?? UNKNOWN),
    };
  }

  private concatenation(expr: Call, overload: string, args: readonly Operand[], argCost: Range): CallEstimate {
    const [left, right] = args;
    const resultSize = add(left?.size ?? UNKNOWN, right?.size ?? UNKNOWN);
    const entries = unionEntries(this.entriesOf(left), this.entriesOf(right));
    if (entries !== undefined) this.entries.set(expr, entries);
    const own =
      overload === 'add_list' ? ONE : { min: Math.ceil(resultSize.min * 0.1), max: Math.ceil(resultSize.max * 0.1) };
    return { cost: add(own, argCost), resultSize };
  }

  private list(expr: ListExpr): Range {
    let cost = LIST_BASE;
    let item: Range = { min: expr.elements.length === 0 ? 0 : UNBOUNDED, max: 0 };
    for (const element of expr.elements) {
      cost = add(cost, this.estimate(element));
      item = union(item, this.size(element) ?? UNKNOWN);
    }
    this.entries.set(expr, { kind: 'list', key: ONE, value: item });
    return cost;
  }

  private map(expr: MapExpr): Range {
    let cost = MAP_BASE;
    const start: Range = { min: expr.entries.length === 0 ? 0 : UNBOUNDED, max: 0 };
    let key = start;
    let value = start;
    for (const entry of expr.entries) {
      cost = add(cost, add(this.estimate(entry.key), this.estimate(entry.value)));
      key = union(key, this.size(entry.key) ?? UNKNOWN);
      value = union(value, this.size(entry.value) ?? UNKNOWN);
    }
    this.entries.set(expr, { kind: 'map', key, value });
    return cost;
  }

  private comprehension(expr: Comprehension): Range {
    let sum = add(this.estimate(expr.range), this.estimate(expr.accuInit));
    const names = this.pushIteration(expr);
    this.pushAccumulator(expr);
    const loop = this.estimate(expr.condition);
    const step = this.estimate(expr.step);
    for (const name of names) this.locals.get(name)?.pop();
    sum = add(sum, this.estimate(expr.result));
    this.locals.get(expr.accuVar)?.pop();
    const count = this.size(expr.range) ?? UNKNOWN;
    sum = add(sum, multiply(count, add(step, loop)));
    if (expr.accuInit.kind === 'literal') {
      const size = this.size(expr.accuInit);
      if (size !== undefined) this.sizes.set(expr, size);
    } else if (expr.accuInit.kind === 'list' || expr.accuInit.kind === 'map') {
      this.sizes.set(expr, count);
      const entries = this.entrySizes(expr.step);
      if (entries !== undefined) this.entries.set(expr, entries);
    }
    return sum;
  }

  private pushAccumulator({ accuVar, accuInit }: Comprehension): void {
    this.push(accuVar, { path: this.path(accuInit), size: this.size(accuInit), entries: this.entrySizes(accuInit) });
  }

  /** Declares the variables of a loop and returns their names. */
  private pushIteration(expr: Comprehension): readonly string[] {
    const { range } = expr;
    const entries = this.entrySizes(range);
    const isList = entries === undefined ? range.type?.kind === 'list' : entries.kind === 'list';
    const path = this.path(range);
    const declare = (name: string, step: string, size: Range | undefined): string => {
      this.push(name, { path: [...path, step], size, entries: undefined });
      return name;
    };
    if (expr.iterVar2 !== undefined) {
      return [
        declare(expr.iterVar, isList ? '@indices' : '@keys', entries?.key),
        declare(expr.iterVar2, isList ? '@items' : '@values', entries?.value),
      ];
    }
    return [declare(expr.iterVar, isList ? '@items' : '@keys', isList ? entries?.value : entries?.key)];
  }

  /** Estimates a comprehension over an empty range, which only binds a variable. */
  private binding(expr: Comprehension): Range {
    const before = add(this.estimate(expr.range), this.estimate(expr.accuInit));
    this.pushAccumulator(expr);
    const result = this.estimate(expr.result);
    this.locals.get(expr.accuVar)?.pop();
    this.copySizes(expr, expr.result);
    return add(before, result);
  }

  // --- sizes

  private push(name: string, local: Local): void {
    const stack = this.locals.get(name);
    if (stack === undefined) this.locals.set(name, [local]);
    else stack.push(local);
  }

  private local(name: string): Local | undefined {
    return this.locals.get(name)?.at(-1);
  }

  private path(expr: Expr): readonly string[] {
    if (expr.kind === 'ident') {
      const local = this.local(expr.name);
      if (local !== undefined) return local.path;
    }
    return this.paths.get(expr) ?? [];
  }

  private operand(expr: Expr): Operand {
    const path = this.path(expr);
    const computed = path.length === 0 || path[0] === ACCUMULATOR || path[0] === '__result__';
    return { path: computed ? undefined : path, type: expr.type, expr, size: this.size(expr) };
  }

  private operandSize(operand: Operand): Range {
    return operand.size ?? this.declaredSize(operand.path ?? []) ?? UNKNOWN;
  }

  /** The declared size of the value that a path leads to. */
  private declaredSize(path: readonly string[]): Range | undefined {
    const [name, ...steps] = path;
    let type = name === undefined ? undefined : this.variables(name);
    for (const step of steps) {
      if (step === '@items' || step === '@values') type = type?.elem;
      else if (step === '@keys') type = type?.key;
      else type = type?.fields?.get(step);
    }
    return type === undefined ? undefined : { min: 0, max: type.maxElements };
  }

  private size(expr: Expr): Range | undefined {
    const known = this.sizes.get(expr) ?? literalSize(expr);
    if (known !== undefined) return known;
    const declared = this.declaredSize(this.path(expr));
    if (declared !== undefined) {
      this.sizes.set(expr, declared);
      return declared;
    }
    return scalarSize(expr.type) ?? (expr.kind === 'ident' ? this.local(expr.name)?.size : undefined);
  }

  private entrySizes(expr: Expr): EntrySizes | undefined {
    return this.entries.get(expr) ?? (expr.kind === 'ident' ? this.local(expr.name)?.entries : undefined);
  }

  private entriesOf(operand: Operand | undefined): EntrySizes | undefined {
    return operand?.expr === undefined ? undefined : this.entrySizes(operand.expr);
  }

  private copySizes(to: Expr, from: Expr): void {
    const size = this.size(from);
    const entries = this.entrySizes(from);
    if (size !== undefined) this.sizes.set(to, size);
    if (entries !== undefined) this.entries.set(to, entries);
  }
}

function unionEntries(a: EntrySizes | undefined, b: EntrySizes | undefined): EntrySizes | undefined {
  if (a === undefined || b === undefined) return undefined;
  return { kind: a.kind, key: union(a.key, b.key), value: union(a.value, b.value) };
}

function isBinding(expr: Comprehension): boolean {
  return (
    expr.range.kind === 'list' &&
    expr.range.elements.length === 0 &&
    expr.condition.kind === 'literal' &&
    expr.condition.value === false
  );
}

/** Estimates the minimum and maximum cost of evaluating an expression. */
export function estimateCost(expr: Expr, variables: VariableTypes): Range {
  return new Estimator(variables).estimate(expr);
}
