import { type FieldError, invalid, required, tooMany } from '../apimachinery/meta/field-error.js';
import type { JsonObject, JsonValue } from '../apimachinery/json/json.js';
import { quote } from '../apimachinery/meta/meta.js';
import {
  BOOLEAN,
  FLOAT,
  INTEGER,
  type LengthRules,
  type LogicRules,
  OBJECT,
  STRING,
  type SchemaNode,
  kindOf,
} from './node.js';
import { isJsonInteger } from './numeric.js';
import { NO_OLD_VALUE, type OldValue, itemCorrelator, oldProperty, unchanged } from './ratchet.js';
import { addTypeError, checkEnum, checkFormat, checkNull, checkNumber, checkText } from './scalars.js';
import { BudgetExceededError, MAX_ERRORS, MAX_VISITS, Walk } from './walk.js';

/**
 * Validates a value against a schema with kube-apiserver's checks, texts and order (kube-openapi's validators, with the
 * conversion to field errors). `prefix` is the path of the value; with `old`, errors of unchanged values are dropped.
 */
export function validateValue(
  node: SchemaNode,
  value: JsonValue,
  prefix: string,
  old: OldValue = NO_OLD_VALUE,
): FieldError[] {
  const errors = collect(node, value, prefix, NO_OLD_VALUE);
  // The old value matters only if there are errors.
  return errors.length > 0 && old !== NO_OLD_VALUE ? collect(node, value, prefix, old) : errors;
}

function collect(node: SchemaNode, value: JsonValue, prefix: string, old: OldValue): FieldError[] {
  const walk = new Walk(prefix);
  try {
    visit(node, value, walk, old);
  } catch (error) {
    if (!(error instanceof BudgetExceededError)) throw error;
    const why =
      walk.visits > MAX_VISITS
        ? 'validating the object exceeds the cost limit'
        : `only the first ${String(MAX_ERRORS)} errors are shown`;
    return [...walk.unique(), invalid(walk.field(''), '', why)];
  }
  return walk.unique();
}

function visit(node: SchemaNode, value: JsonValue, walk: Walk, old: OldValue): void {
  const before = walk.errors.length;
  check(node, value, walk, old);
  if (old !== NO_OLD_VALUE && walk.errors.length > before && unchanged(node, value, old)) walk.truncate(before);
}

function check(node: SchemaNode, value: JsonValue, walk: Walk, old: OldValue): void {
  if (++walk.visits > MAX_VISITS) throw new BudgetExceededError();
  if (value === null) {
    checkNull(node, walk);
    return;
  }
  const kind = kindOf(value);
  // Each applicable validator counts one match, besides those it counts itself, and the node counts one at the end.
  walk.matches += 4;
  if (node.typed) {
    walk.matches += 1;
    const fits =
      (node.accepts & kind) !== 0 || (kind === FLOAT && (node.accepts & INTEGER) !== 0 && isJsonInteger(Number(value)));
    if (fits) walk.matches += 1;
    else addTypeError(node, kind, walk);
  }
  if (node.logic !== undefined) checkLogic(node.logic, value, walk);
  if (kind === STRING) {
    walk.matches += node.formatCheck === undefined ? 1 : 2;
    checkText(node, value as string, walk);
    checkFormat(node, value as string, walk);
  } else if (kind === INTEGER || kind === FLOAT) {
    walk.matches += 2;
    const number = typeof value === 'bigint' ? value : Number(value);
    checkNumber(node, number, kind === INTEGER, walk);
  } else if (kind !== OBJECT && kind !== BOOLEAN) {
    walk.matches += 2;
    checkArray(node, value as JsonValue[], walk, old);
  }
  if (node.enumeration !== undefined) checkEnum(node, value, walk);
  if (kind === OBJECT) {
    walk.matches += 1;
    checkObject(node, value as JsonObject, walk, old);
  }
}

function checkArray(node: SchemaNode, value: JsonValue[], walk: Walk, old: OldValue): void {
  if (node.items !== undefined) {
    const depth = walk.path.length;
    const correlate = old === NO_OLD_VALUE ? undefined : itemCorrelator(node, old);
    for (let i = 0; i < value.length; i++) {
      const item = value[i] as JsonValue;
      walk.path[depth] = i;
      visit(node.items, item, walk, correlate === undefined ? NO_OLD_VALUE : correlate(item));
    }
    walk.path.length = depth;
  }
  const count = node.itemCount;
  if (count === undefined) return;
  const { min, minText, max } = count;
  if (min !== undefined && value.length < min) {
    if (walk.recordFailure()) return;
    const name = walk.name;
    walk.addInvalid(name, value.length, `${name} in body should have at least ${minText} items`);
  }
  if (max !== undefined && value.length > max) {
    if (walk.recordFailure()) return;
    const name = walk.name;
    walk.add(tooMany(walk.field(name), value.length, max), `${name} in body should have at most ${String(max)} items`);
  }
}

function checkObject(node: SchemaNode, value: JsonObject, walk: Walk, old: OldValue): void {
  if (node.propertyCount !== undefined) checkPropertyCount(node.propertyCount, value, walk);
  const { properties, additional } = node;
  if (properties !== undefined || additional !== undefined) {
    const depth = walk.path.length;
    for (const key in value) {
      const member = value[key];
      if (member === undefined) continue;
      const child = properties?.get(key);
      if (child !== undefined) {
        walk.path[depth] = key;
        visit(child, member, walk, childOld(old, depth, key));
      } else if (typeof additional === 'object') {
        if (depth === 0) walk.rootAdditional = true;
        walk.path[depth] = key;
        visit(additional, member, walk, childOld(old, depth, key));
        if (depth === 0) walk.rootAdditional = false;
      } else if (additional === false) {
        if (walk.recordFailure()) return;
        walk.path.length = depth;
        const name = walk.name;
        walk.addInvalid(name, key, `${name}.${key} in body is a forbidden property`);
      }
    }
    walk.path.length = depth;
  }
  const keys = node.required;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    const member = value[key];
    // Inherited members are functions.
    if (member !== undefined && typeof member !== 'function') continue;
    if (walk.recordFailure()) return;
    const name = `${walk.name}.${key}`;
    walk.add(required(walk.field(name)), `${name} in body is required`);
  }
}

/** Returns the old value of a property. Changes of apiVersion and kind at the root cannot be seen, so these are never ratcheted. */
function childOld(old: OldValue, depth: number, key: string): OldValue {
  if (old === NO_OLD_VALUE || (depth === 0 && (key === 'kind' || key === 'apiVersion'))) return NO_OLD_VALUE;
  return oldProperty(old, key);
}

function checkPropertyCount({ min, minText, max }: LengthRules, value: JsonObject, walk: Walk): void {
  let count = 0;
  for (const key in value) if (value[key] !== undefined) count++;
  if (min !== undefined && count < min) {
    if (walk.recordFailure()) return;
    const name = walk.name;
    walk.addInvalid(name, count, `${name} in body should have at least ${minText} properties`);
  }
  if (max !== undefined && count > max) {
    if (walk.recordFailure()) return;
    const name = walk.name;
    walk.add(tooMany(walk.field(name), count, max), `${name} in body should have at most ${String(max)} properties`);
  }
}

/** Reports whether the value passes, without building error texts. If it does, its passed checks are counted. */
function passes(node: SchemaNode, value: JsonValue, walk: Walk): boolean {
  const { failed, probing, matches } = walk;
  walk.failed = false;
  walk.probing = true;
  check(node, value, walk, NO_OLD_VALUE);
  const passed = !walk.hasFailed();
  walk.failed = failed;
  walk.probing = probing;
  if (!passed) walk.matches = matches;
  return passed;
}

/** One alternative's failures. */
interface Failures {
  readonly errors: FieldError[];
  readonly messages: string[];
  readonly matches: number;
}

function failuresOf(node: SchemaNode, value: JsonValue, walk: Walk): Failures {
  const { errors, messages, matches } = walk;
  walk.errors = [];
  walk.messages = [];
  walk.matches = 0;
  check(node, value, walk, NO_OLD_VALUE);
  const failures = { errors: walk.errors, messages: walk.messages, matches: walk.matches };
  walk.errors = errors;
  walk.messages = messages;
  walk.matches = matches;
  return failures;
}

/** Adds the failures of the alternative that passed the most checks; of equals, the first. */
function addBest(nodes: readonly SchemaNode[], value: JsonValue, walk: Walk): void {
  let best: Failures | undefined;
  for (const node of nodes) {
    const failures = failuresOf(node, value, walk);
    if (best === undefined || failures.matches > best.matches) best = failures;
  }
  if (best === undefined) return;
  walk.matches += best.matches;
  for (let i = 0; i < best.errors.length; i++) walk.add(best.errors[i] as FieldError, best.messages[i] as string);
}

function checkLogic(logic: LogicRules, value: JsonValue, walk: Walk): void {
  if (logic.anyOf.length > 0 && !logic.anyOf.some((node) => passes(node, value, walk)) && !walk.recordFailure()) {
    walk.addGeneral(`${quote(walk.name)} must validate at least one schema (anyOf)`);
    addBest(logic.anyOf, value, walk);
  }
  if (logic.oneOf.length > 0) checkOneOf(logic.oneOf, value, walk);
  if (logic.allOf.length > 0) checkAllOf(logic.allOf, value, walk);
  if (logic.not === undefined) return;
  const { matches } = walk;
  if (passes(logic.not, value, walk) && !walk.recordFailure()) {
    walk.addGeneral(`${quote(walk.name)} must not validate the schema (not)`);
  }
  walk.matches = matches;
}

function checkOneOf(nodes: readonly SchemaNode[], value: JsonValue, walk: Walk): void {
  const before = walk.matches;
  let first = before;
  let passed = 0;
  for (const node of nodes) {
    walk.matches = before;
    if (passes(node, value, walk) && ++passed === 1) first = walk.matches;
  }
  walk.matches = passed === 1 ? first : before;
  if (passed === 1 || walk.recordFailure()) return;
  const found = passed === 0 ? 'Found none valid' : `Found ${String(passed)} valid alternatives`;
  walk.addGeneral(`${quote(walk.name)} must validate one and only one schema (oneOf). ${found}`);
  if (passed === 0) addBest(nodes, value, walk);
}

function checkAllOf(nodes: readonly SchemaNode[], value: JsonValue, walk: Walk): void {
  const { failed } = walk;
  let passed = 0;
  for (const node of nodes) {
    walk.failed = false;
    check(node, value, walk, NO_OLD_VALUE);
    if (!walk.hasFailed()) passed++;
  }
  walk.failed = failed;
  if (passed === nodes.length || walk.recordFailure()) return;
  const none = passed === 0 ? '. None validated' : '';
  walk.addGeneral(`${quote(walk.name)} must validate all the schemas (allOf)${none}`);
}
