import {
  ArrayList,
  CelError,
  CelMap,
  EntryMap,
  NO_SUCH_OVERLOAD,
  Optional,
  type Value,
  typeName,
} from '../values/value.js';
import { formatKey } from '../values/access.js';
import { constant, Frame, type Plan, type Run } from './frame.js';
import type { Expr, ListExpr, MapExpr, StructExpr } from '../ast.js';
import { LIST_BASE, LIST_LITERAL, MAP_BASE, STRUCT_BASE } from '../cost/runtime.js';
import type { StructDecl } from '../declarations.js';

/** Adds to a map and charges for it. `failed` says whether an earlier step failed. */
export type Insert = (frame: Frame, map: EntryMap, failed: boolean) => CelError | undefined;

/** Inserts the entries of a map. The accumulator, the entries and the call are always charged, because both sides are always evaluated. */
export function insertEntries(entries: Run): Insert {
  return (frame, map) => {
    frame.cost += 2;
    const value = entries(frame);
    return value instanceof CelError ? value : mergeInto(map, value);
  };
}

/** Inserts one entry. The first argument that fails, including the accumulator, ends the call, which is charged only if all were evaluated. */
export function insertPair(key: Run, value: Run): Insert {
  return (frame, map, failed) => {
    frame.cost++;
    if (failed) return undefined;
    const left = key(frame);
    if (left instanceof CelError) return left;
    const right = value(frame);
    frame.cost++;
    return right instanceof CelError ? right : insertInto(map, left, right);
  };
}

function insertInto(map: EntryMap, key: Value, value: Value, repeated?: string): CelError | undefined {
  const inserted = map.insert(key, value);
  if (inserted === true) return undefined;
  if (inserted === undefined) return new CelError(`unsupported key type: ${typeName(key)}`);
  return new CelError(repeated ?? `insert failed: key ${formatKey(key)} already exists`);
}

function mergeInto(map: EntryMap, entries: Value): CelError | undefined {
  if (!(entries instanceof CelMap)) return NO_SUCH_OVERLOAD;
  for (const key of entries.keys()) {
    const problem = insertInto(map, key, entries.find(key) ?? null);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

interface Subplanner {
  plan(expr: Expr): Plan;
}

/** Plans a list literal. A constant one is built in advance. */
export function planList(expr: ListExpr, planner: Subplanner): Plan {
  const plans = expr.elements.map((element) => planner.plan(element));
  const base = expr.synthetic ? LIST_BASE : LIST_LITERAL;
  if (plans.every((plan) => plan.constant !== undefined) && expr.optional.size === 0) {
    const items = plans.map((plan) => plan.constant?.value ?? null);
    const inner = plans.reduce((sum, plan) => sum + (plan.constant?.cost ?? 0), 0);
    return constant(new ArrayList(items), inner + (expr.synthetic ? 0 : LIST_LITERAL));
  }
  const runs = plans.map((plan) => plan.run);
  const { optional } = expr;
  const build: Run = (frame) => {
    const items: Value[] = [];
    for (let i = 0; i < runs.length; i++) {
      const value = (runs[i] as Run)(frame);
      if (value instanceof CelError) return value;
      if (!optional.has(i)) items.push(value);
      else if (!(value instanceof Optional)) {
        return new CelError(`cannot initialize optional list element from non-optional value ${formatKey(value)}`);
      } else if (value.value !== undefined) items.push(value.value);
    }
    return new ArrayList(items);
  };
  return { run: paid(build, base) };
}

/** Plans a map literal. A constant one is built in advance. */
export function planMap(expr: MapExpr, planner: Subplanner, unique: boolean): Plan {
  const entries = expr.entries.map((entry) => ({
    key: planner.plan(entry.key),
    value: planner.plan(entry.value),
    optional: entry.optional,
  }));
  const build: Run = (frame) => {
    const map = new EntryMap();
    for (const entry of entries) {
      const problem = addEntry(frame, map, entry, unique);
      if (problem !== undefined) return problem;
    }
    return map;
  };
  const known = entries.every(
    (entry) => entry.key.constant !== undefined && entry.value.constant !== undefined && !entry.optional,
  );
  if (!known) return { run: paid(build, MAP_BASE) };
  const value = build(new Frame([], Infinity));
  if (value instanceof CelError) return { run: paid(build, MAP_BASE) };
  return constant(
    value,
    entries.reduce((sum, entry) => sum + (entry.value.constant?.cost ?? 0), 0),
  );
}

/** Plans a struct literal of a declared type. */
export function planStruct(expr: StructExpr, planner: Subplanner, decl: StructDecl | undefined): Run {
  const fields = expr.fields.map((field) => ({
    name: field.name,
    run: planner.plan(field.value).run,
    optional: field.optional,
  }));
  const build: Run = (frame) => {
    const values = new Map<string, Value>();
    for (const field of fields) {
      const value = field.run(frame);
      if (value instanceof CelError) return value;
      if (!field.optional) values.set(field.name, value);
      else if (!(value instanceof Optional)) return notOptional(field.name, value);
      else if (value.value !== undefined) values.set(field.name, value.value);
    }
    return decl?.create === undefined ? new CelError(`unknown type '${expr.name}'`) : decl.create(values);
  };
  return paid(build, STRUCT_BASE);
}

/** Charges the cost of a literal, even if a part of it fails. */
function paid(build: Run, cost: number): Run {
  return (frame) => {
    const value = build(frame);
    frame.cost += cost;
    return value;
  };
}

const notOptional = (name: string, value: Value): CelError =>
  new CelError(`cannot initialize optional entry '${name}' from non-optional value ${formatKey(value)}`);

interface PlannedEntry {
  readonly key: Plan;
  readonly value: Plan;
  readonly optional: boolean;
}

function addEntry(frame: Frame, map: EntryMap, entry: PlannedEntry, unique: boolean): CelError | undefined {
  const key = entry.key.run(frame);
  if (key instanceof CelError) return key;
  let value = entry.value.run(frame);
  if (value instanceof CelError) return value;
  if (entry.optional) {
    if (!(value instanceof Optional)) return notOptional(formatKey(key), value);
    if (value.value === undefined) return undefined;
    value = value.value;
  }
  if (unique) return insertInto(map, key, value, 'Failed with repeated key');
  return map.set(key, value) ? undefined : new CelError(`unsupported key type: ${typeName(key)}`);
}
