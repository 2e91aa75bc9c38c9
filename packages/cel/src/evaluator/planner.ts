import { ACCUMULATOR, argumentsOf, type Call, type Comprehension, type Expr, type Ident } from '../ast.js';
import type { StructDecl } from '../declarations.js';
import { compileRegex } from '../library/regex.js';
import { CONVERSION_NAMES } from '../library/standard.js';
import { isDyn, isOptional } from '../types.js';
import { ArrayList, CelError, NO_SUCH_OVERLOAD, Optional, type Value } from '../values/value.js';
import { invalidKeyError } from '../values/access.js';
import { fieldComparison, twoComparisons } from './comparisons.js';
import { planCall, planMembership, logical } from './calls.js';
import { chain, optionalChain, planVariableField, presence, type Step } from './chain.js';
import { insertEntries, insertPair, planList, planMap, planStruct } from './literals.js';
import { constant, type Dialect, Frame, type Plan, readField, type Run } from './frame.js';
import { existsOne, collectList, collectMap, type LoopSlots, quantifier } from './loops.js';

/** The expression cannot be run because a constant part of it fails. The message says which. */
export class PlanError extends Error {}

const PATTERN_FUNCTIONS = new Set(['matches', 'find', 'findAll']);
const DYNAMIC = new CelError('no such overload');

/** Compiles a checked expression into closures over slots. */
export class Planner {
  /** The slots of the variables that the expression uses, by variable name. */
  readonly variables = new Map<string, number>();
  slots = 0;
  private readonly scopes: { name: string; slot: number; lazy: Run | undefined }[] = [];

  constructor(
    private readonly structs: (name: string) => StructDecl | undefined,
    private readonly dialect: Dialect,
  ) {}

  plan(expr: Expr): Plan {
    switch (expr.kind) {
      case 'literal':
        return constant(expr.value, 0);
      case 'list':
        return planList(expr, this);
      case 'map':
        return planMap(expr, this, this.dialect.uniqueKeys);
      case 'struct':
        return { run: planStruct(expr, this, this.structs(expr.name)) };
      case 'comprehension':
        return { run: this.comprehension(expr) };
      case 'call':
        return this.call(expr);
      case 'ident':
        if (expr.constant !== undefined) return this.named(expr.constant);
        return this.planAttribute(expr, 1);
      case 'select':
        if (expr.resolved?.constant !== undefined) return this.named(expr.resolved.constant);
        return this.planAttribute(expr, 1);
      case 'invalid':
        return constant(DYNAMIC, 0);
    }
  }

  /** Plans a name that stands for a constant, which may be an error. */
  private named(value: Value): Plan {
    if (value instanceof CelError && this.dialect.eagerConstants) throw new PlanError(value.message);
    return constant(value, 0);
  }

  private run(expr: Expr): Run {
    return this.plan(expr).run;
  }

  // --- variables and parts of values

  private slot(): number {
    return this.slots++;
  }

  /** The slot of a variable, or undefined for a variable that is computed on first access. */
  private slotOf(expr: Ident): number | undefined {
    const scope = this.scopes.findLast((candidate) => candidate.name === expr.name);
    if (scope?.lazy !== undefined) return undefined;
    let slot = scope?.slot ?? this.variables.get(expr.name);
    if (slot === undefined) this.variables.set(expr.name, (slot = this.slot()));
    return slot;
  }

  private variable(expr: Ident): Run {
    const at = this.slotOf(expr);
    if (at === undefined) {
      const scope = this.scopes.findLast((candidate) => candidate.name === expr.name);
      return scope?.lazy === undefined ? () => NO_SUCH_OVERLOAD : lazyVariable(scope.slot, scope.lazy);
    }
    const missing = noSuchAttribute(expr.name);
    return (frame) => {
      const value = frame.slots[at];
      return value === undefined ? missing : value;
    };
  }

  private isAttribute(expr: Expr): boolean {
    if (expr.kind === 'ident') return expr.constant === undefined;
    if (expr.kind === 'select') return expr.resolved?.constant === undefined;
    return expr.kind === 'call' && ['_[_]', '_[?_]', '_?._', '_?_:_'].includes(expr.name);
  }

  private attribute(expr: Expr, rootCost: 0 | 1): Run {
    return this.planAttribute(expr, rootCost).run;
  }

  /** Plans a variable, selection, index or conditional. `rootCost` is the cost of its root. */
  private planAttribute(expr: Expr, rootCost: 0 | 1): Plan {
    if (!this.isAttribute(expr)) return this.plan(expr);
    if (expr.kind === 'select' && expr.test) {
      const { root, steps } = this.unchain(expr.operand);
      const run = presence(this.root(root), steps, expr.field, this.dialect.strictPresence);
      return { run: isChoice(root) ? refunded(run) : run };
    }
    const { root, steps } = this.unchain(expr);
    // The conditional itself costs nothing.
    const cost = isChoice(root) ? 0 : rootCost;
    if (steps.length > 0) return this.steps(root, cost, steps);
    if (cost === 1 && root.kind === 'ident') {
      const slot = this.slotOf(root);
      if (slot !== undefined) return { run: paidSlot(slot, noSuchAttribute(root.name)) };
    }
    const start = this.root(root);
    if (cost === 0) return { run: start };
    return {
      run: (frame) => {
        frame.cost++;
        return start(frame);
      },
    };
  }

  private steps(root: Expr, cost: number, steps: readonly Step[]): Plan {
    const mayBeOptional = root.type === undefined || isDyn(root.type) || isOptional(root.type);
    const hasOptionalStep = steps.some((step) => step.optional);
    const whole = (): Run =>
      mayBeOptional || hasOptionalStep
        ? optionalChain(this.root(root), cost, steps, this.dialect.strictPresence)
        : chain(this.root(root), cost, steps);
    const variable = root.kind === 'select' ? root.resolved : root;
    const [first, ...others] = steps;
    if (first?.kind !== 'field' || hasOptionalStep) return { run: whole() };
    if (variable?.kind !== 'ident' || variable.constant !== undefined) return { run: whole() };
    const slot = this.slotOf(variable);
    if (slot === undefined) return { run: whole() };
    const general = mayBeOptional ? whole() : undefined;
    const field = planVariableField(slot, noSuchAttribute(variable.name), cost, first.name, general);
    const run: Run = (frame) => readField(frame, field);
    if (others.length === 0) return { run, field };
    const rest = chain(run, 0, others);
    if (general === undefined) return { run: rest };
    return { run: (frame) => (frame.slots[slot] instanceof Optional ? general(frame) : rest(frame)) };
  }

  private root(expr: Expr): Run {
    if (expr.kind === 'ident' && expr.constant === undefined) return this.variable(expr);
    if (expr.kind === 'select' && expr.resolved !== undefined) return this.variable(expr.resolved);
    if (isChoice(expr)) return this.choice(expr);
    return this.run(expr);
  }

  /** Splits `a.b[c].d` into `a` and its steps. */
  private unchain(expr: Expr): { root: Expr; steps: Step[] } {
    const steps: Step[] = [];
    let root = expr;
    for (;;) {
      if (root.kind === 'select' && !root.test && root.resolved === undefined) {
        steps.unshift({ kind: 'field', name: root.field, optional: false });
        root = root.operand;
        continue;
      }
      const [operand, index] = root.kind === 'call' ? root.args : [];
      if (root.kind !== 'call' || operand === undefined || index === undefined) break;
      if (root.name === '_?._' && index.kind === 'literal') {
        steps.unshift({ kind: 'field', name: typeof index.value === 'string' ? index.value : '', optional: true });
      } else if (root.name === '_[_]' || root.name === '_[?_]') {
        steps.unshift(this.indexStep(index, root.name === '_[?_]'));
      } else break;
      root = operand;
    }
    return { root, steps };
  }

  private indexStep(index: Expr, optional: boolean): Step {
    const known = this.isAttribute(index) ? undefined : this.plan(index).constant;
    const problem = known === undefined ? undefined : invalidKeyError(known.value);
    if (problem !== undefined && this.dialect.eagerConstants) throw new PlanError(problem.message);
    if (index.kind === 'literal' && typeof index.value === 'string')
      return { kind: 'field', name: index.value, optional };
    return { kind: 'index', index: this.attribute(index, 0), optional };
  }

  private choice(expr: Call): Run {
    const [condition, yes, no] = expr.args;
    if (condition === undefined || yes === undefined || no === undefined) return () => NO_SUCH_OVERLOAD;
    const test = this.run(condition);
    const whenTrue = this.attribute(yes, 0);
    const whenFalse = this.attribute(no, 0);
    return (frame) => {
      const value = test(frame);
      if (value === true) return whenTrue(frame);
      if (value === false) return whenFalse(frame);
      return value instanceof CelError ? value : NO_SUCH_OVERLOAD;
    };
  }

  // --- calls

  private call(expr: Call): Plan {
    if (this.isAttribute(expr)) return { run: this.attribute(expr, 1) };
    if (expr.name === '_&&_' || expr.name === '_||_') {
      const terms = termsOf(expr).map((term) => this.plan(term));
      return { run: connective(terms, expr.name === '_||_') };
    }
    const args = argumentsOf(expr).map((arg) => this.plan(arg));
    if (expr.name === '@in' && expr.overloads?.length === 1 && expr.overloads[0]?.id === 'in_list') {
      const folded = this.membership(args);
      if (folded !== undefined) return folded;
    }
    const run = planCall(expr, args);
    this.checkPattern(expr, args[1]?.constant?.value);
    const only = args[0]?.constant;
    if (CONVERSION_NAMES.has(expr.name) && args.length === 1 && only !== undefined) {
      const value = run(new Frame([], Infinity));
      if (!(value instanceof CelError)) return constant(value, only.cost);
      if (this.dialect.eagerConstants) throw new PlanError(value.message);
    }
    const [left, right] = args;
    if (left === undefined || right === undefined) return { run };
    return { run, comparison: fieldComparison(expr.name, left, right) };
  }

  /** Compiles constant patterns when the expression is planned. */
  private checkPattern({ name }: Call, pattern: Value | undefined): void {
    if (!this.dialect.eagerConstants || typeof pattern !== 'string' || !PATTERN_FUNCTIONS.has(name)) return;
    const compiled = compileRegex(pattern);
    if (typeof compiled === 'string') throw new PlanError(compiled);
  }

  /** Plans `x in [constants]` as a lookup in a set. */
  private membership(args: readonly Plan[]): Plan | undefined {
    const [item, list] = args;
    if (item === undefined || !(list?.constant?.value instanceof ArrayList)) return undefined;
    const { value, cost } = list.constant;
    // cel-go does not evaluate the item in this case.
    if (value.size === 0) return this.dialect.eagerConstants ? constant(false, cost) : undefined;
    const run = planMembership(item, value, cost);
    return run === undefined ? undefined : { run };
  }

  // --- loops

  private scoped<T>(name: string, slot: number, lazy: Run | undefined, plan: () => T): T {
    this.scopes.push({ name, slot, lazy });
    const result = plan();
    this.scopes.pop();
    return result;
  }

  private comprehension(expr: Comprehension): Run {
    const range = this.run(expr.range);
    if (expr.accuVar !== ACCUMULATOR) return this.binding(expr);
    const slots: LoopSlots = {
      first: this.slot(),
      second: expr.iterVar2 === undefined ? -1 : this.slot(),
    };
    const inner = <T>(plan: () => T): T =>
      this.scoped(expr.iterVar, slots.first, undefined, () =>
        expr.iterVar2 === undefined ? plan() : this.scoped(expr.iterVar2, slots.second, undefined, plan),
      );
    return inner(() => this.loop(expr, range, slots));
  }

  /** Plans a loop. Macros produce only a few shapes of loops, and each has its own implementation. */
  private loop(expr: Comprehension, range: Run, slots: LoopSlots): Run {
    const { step } = expr;
    if (step.kind !== 'call') return () => NO_SUCH_OVERLOAD;
    const [first, second] = step.args;
    if (step.name === '_&&_' || step.name === '_||_') {
      return quantifier(range, this.run(second ?? step), slots, step.name === '_||_');
    }
    const filter = step.name === '_?_:_' && first !== undefined ? this.run(first) : undefined;
    const added = filter === undefined ? step : second;
    if (added?.kind !== 'call') return () => NO_SUCH_OVERLOAD;
    const item = added.args[1];
    if (item === undefined) return () => NO_SUCH_OVERLOAD;
    if (added.name === 'cel.@mapInsert') return this.mapLoop(range, filter, added, slots);
    if (item.kind === 'list') {
      const element = item.elements[0] ?? item;
      const itself = element.kind === 'ident' && element.constant === undefined && this.slotOf(element) === slots.first;
      return collectList(range, filter, itself ? undefined : this.run(element), slots);
    }
    return existsOne(range, filter ?? this.run(item), slots);
  }

  private mapLoop(range: Run, filter: Run | undefined, insert: Call, slots: LoopSlots): Run {
    const [, key, value] = insert.args;
    if (key === undefined) return () => NO_SUCH_OVERLOAD;
    const first = this.run(key);
    const second = value === undefined ? undefined : this.run(value);
    return collectMap(range, filter, second === undefined ? insertEntries(first) : insertPair(first, second), slots);
  }

  /** Plans a comprehension over an empty range, which only binds a variable. The value is computed on first access. */
  private binding(expr: Comprehension): Run {
    const init = this.run(expr.accuInit);
    const slot = this.slot();
    const result = this.scoped(expr.accuVar, slot, init, () => this.run(expr.result));
    return (frame) => {
      frame.slots[slot] = undefined;
      return result(frame);
    };
  }
}

function connective(terms: readonly Plan[], decisive: boolean): Run {
  const run = logical(
    terms.map((term) => term.run),
    decisive,
  );
  const [first, second] = terms;
  if (terms.length !== 2 || first?.comparison === undefined || second?.comparison === undefined) return run;
  return twoComparisons(first.comparison, second.comparison, decisive, run) ?? run;
}

const noSuchAttribute = (name: string): CelError => new CelError(`no such attribute(s): ${name}`);

/** The terms of a conjunction or disjunction, however it is nested. */
function termsOf(expr: Call): Expr[] {
  const terms: Expr[] = [];
  const open: Expr[] = [expr];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.kind === 'call' && next.name === expr.name) open.push(...next.args.toReversed());
    else terms.push(next);
  }
  return terms;
}

const isChoice = (expr: Expr): expr is Call => expr.kind === 'call' && expr.name === '_?_:_';

/** Refunds one unit: `has((a ? b : c).d)` refunds the cost of a root, although a conditional has not paid for one. */
function refunded(run: Run): Run {
  return (frame) => {
    const value = run(frame);
    frame.cost--;
    return value;
  };
}

function paidSlot(slot: number, missing: CelError): Run {
  return (frame) => {
    frame.cost++;
    const value = frame.slots[slot];
    return value === undefined ? missing : value;
  };
}

function lazyVariable(slot: number, init: Run): Run {
  return (frame) => {
    const known = frame.slots[slot];
    if (known !== undefined) return known;
    const value = init(frame);
    frame.slots[slot] = value;
    return value;
  };
}
