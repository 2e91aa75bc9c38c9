import {
  FieldError,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
  typeInvalid,
} from '../apimachinery/field-error.js';
import { type JsonObject, type JsonValue, deepEqual } from '../apimachinery/json.js';
import { goJson, quote } from '../apimachinery/meta.js';
import {
  BOOLEAN,
  FLOAT,
  INTEGER,
  type LogicRules,
  OBJECT,
  STRING,
  type SchemaNode,
  kindOf,
  typeFault,
} from './node.js';
import { isJsonInteger, numberPasses, numericFaults } from './numeric.js';
import { NONE, type Old, itemCorrelator, oldProperty, unchanged } from './ratchet.js';

/** Errors beyond this number are not collected; a last one says so. */
export const MAX_ERRORS = 10_000;
/** Values visited by one validation; alternatives (anyOf …) visit a value once each. A fifth of a second of work. */
export const MAX_VISITS = 3_000_000;
/** What an error costs in visits. */
const ERROR_COST = 10;

type Segment = string | number;

/** Thrown to leave a walk that costs too much. */
class Exhausted extends Error {}

/**
 * What one validation collects. The path is kept as a stack of segments and becomes text only where there is an error;
 * `matches` counts passed checks, by which kube-apiserver selects the failures of the best alternative of anyOf and oneOf.
 */
class Walk {
  errors: FieldError[] = [];
  /** The texts by which equal errors are recognized, in step with `errors`. */
  messages: string[] = [];
  readonly path: Segment[] = [];
  matches = 0;
  visits = 0;
  /** Whether the first segment is an additional property: its path begins with a dot. */
  rootAdditional = false;
  /** Only whether there is an error is asked: nothing is collected. */
  probing = false;
  failed = false;

  constructor(private readonly prefix: string) {}

  /** The path as messages have it, relative to the prefix. */
  get name(): string {
    let text = '';
    for (const segment of this.path) {
      if (typeof segment === 'number') text += `[${String(segment)}]`;
      else text += text === '' && !this.rootAdditional ? segment : `.${segment}`;
    }
    return text;
  }

  /** The field of an error at a path. */
  field(name: string): string {
    const tail = name.startsWith('.') ? name.slice(1) : name;
    if (tail === '') return this.prefix === '' ? '<nil>' : this.prefix;
    return this.prefix === '' ? tail : `${this.prefix}.${tail}`;
  }

  /** Called before an error's text is made: true where nobody wants it. */
  onlyNoted(): boolean {
    this.failed = true;
    return this.probing;
  }

  add(error: FieldError, message: string): void {
    if (this.errors.length >= MAX_ERRORS) throw new Exhausted();
    this.visits += ERROR_COST;
    this.errors.push(error);
    this.messages.push(message);
  }

  addInvalid(name: string, value: JsonValue, message: string): void {
    this.add(invalid(this.field(name), value, message), message);
  }

  /** An error that names no field. */
  addGeneral(message: string): void {
    this.add(invalid(this.field(''), '', message), message);
  }

  truncate(length: number): void {
    this.errors.length = length;
    this.messages.length = length;
  }

  /** Equal errors count once. */
  unique(): FieldError[] {
    if (this.errors.length < 2) return this.errors;
    const seen = new Set<string>();
    return this.errors.filter((_, i) => {
      const message = this.messages[i] ?? '';
      if (seen.has(message)) return false;
      seen.add(message);
      return true;
    });
  }
}

/**
 * Validates a value by a schema: kube-apiserver's checks, texts and order (kube-openapi's validators, with the conversion
 * to field errors). `prefix` is the path of the value; with `old`, errors of unchanged values are dropped.
 */
export function validateValue(node: SchemaNode, value: JsonValue, prefix: string, old: Old = NONE): FieldError[] {
  const errors = collect(node, value, prefix, NONE);
  // Only where there are errors the old value matters.
  return errors.length > 0 && old !== NONE ? collect(node, value, prefix, old) : errors;
}

function collect(node: SchemaNode, value: JsonValue, prefix: string, old: Old): FieldError[] {
  const walk = new Walk(prefix);
  try {
    visit(node, value, walk, old);
  } catch (error) {
    if (!(error instanceof Exhausted)) throw error;
    const why =
      walk.visits > MAX_VISITS
        ? 'checking the object costs too much'
        : `only the first ${String(MAX_ERRORS)} errors are shown`;
    return [...walk.unique(), invalid(walk.field(''), '', why)];
  }
  return walk.unique();
}

function visit(node: SchemaNode, value: JsonValue, walk: Walk, old: Old): void {
  const before = walk.errors.length;
  check(node, value, walk, old);
  if (old !== NONE && walk.errors.length > before && unchanged(node, value, old)) walk.truncate(before);
}

function check(node: SchemaNode, value: JsonValue, walk: Walk, old: Old): void {
  if (++walk.visits > MAX_VISITS) throw new Exhausted();
  if (value === null) {
    checkNull(node, walk);
    return;
  }
  const kind = kindOf(value);
  // Each validator that applies counts one, besides what it counts itself, and the node counts one at the end.
  walk.matches += 4;
  if (node.typed) {
    walk.matches += 1;
    const fits =
      (node.accepts & kind) !== 0 ||
      (kind === FLOAT && (node.accepts & INTEGER) !== 0 && isJsonInteger(value as number));
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
    checkNumber(node, value as number | bigint, kind === INTEGER, walk);
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

function checkNull(node: SchemaNode, walk: Walk): void {
  if (node.types.length > 0 && !node.nullable) {
    if (walk.onlyNoted()) return;
    const name = walk.name;
    const message = `${name} in body must be of type ${node.types.join(',')}: "null"`;
    walk.add(typeInvalid(walk.field(name), 'null', message), message);
  } else walk.matches += 1;
  // No value of an enum matches null, not even null.
  if (node.enumeration !== undefined) addEnumError(node.enumeration, null, walk);
}

function addTypeError(node: SchemaNode, kind: number, walk: Walk): void {
  if (walk.onlyNoted()) return;
  const name = walk.name;
  const [expected, found] = typeFault(node, kind);
  const message = `${name} in body must be of type ${expected}: ${quote(found)}`;
  walk.add(typeInvalid(walk.field(name), found, message), message);
}

/** Length and pattern; the first fault ends the check. */
function checkText(node: SchemaNode, value: string, walk: Walk): void {
  const { length, pattern } = node;
  if (length !== undefined) {
    const { min, max } = length;
    // A text has at most as many characters as UTF-16 units, and at least half as many.
    if (max !== undefined && value.length > max && codePoints(value) > max) {
      if (walk.onlyNoted()) return;
      const name = walk.name;
      walk.add(tooLong(walk.field(name), max), `${name} in body should be at most ${String(max)} chars long`);
      return;
    }
    if (min !== undefined && value.length < min * 2 && codePoints(value) < min) {
      if (walk.onlyNoted()) return;
      const name = walk.name;
      walk.addInvalid(name, value, `${name} in body should be at least ${String(min)} chars long`);
      return;
    }
  }
  if (pattern !== undefined && !pattern.matches(value)) {
    if (walk.onlyNoted()) return;
    const name = walk.name;
    const error = pattern.error();
    const text = error === undefined ? pattern.text : `${pattern.text}, but pattern is invalid: ${error}`;
    walk.addInvalid(name, value, `${name} in body should match '${text}'`);
  }
}

function codePoints(text: string): number {
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0xd800 && code < 0xdc00) {
      const next = text.charCodeAt(i + 1);
      if (next >= 0xdc00 && next < 0xe000) i++;
    }
    count++;
  }
  return count;
}

function checkFormat(node: SchemaNode, value: string, walk: Walk): void {
  if (node.formatCheck === undefined || node.formatCheck(value)) return;
  if (walk.onlyNoted()) return;
  const name = walk.name;
  const message = `${name} in body must be of type ${node.format}: ${quote(value)}`;
  walk.add(typeInvalid(walk.field(name), value, message), message);
}

function checkNumber(node: SchemaNode, value: number | bigint, whole: boolean, walk: Walk): void {
  if (node.numeric === undefined || numberPasses(node.numeric, value, whole)) return;
  if (walk.onlyNoted()) return;
  const name = walk.name;
  for (const fault of numericFaults(node.numeric, value, whole, name)) {
    if (fault.value === undefined) walk.addGeneral(fault.message);
    else walk.addInvalid(name, fault.value, fault.message);
  }
}

function checkArray(node: SchemaNode, value: JsonValue[], walk: Walk, old: Old): void {
  if (node.items !== undefined) {
    const depth = walk.path.length;
    const correlate = old === NONE ? undefined : itemCorrelator(node, old);
    for (let i = 0; i < value.length; i++) {
      const item = value[i] as JsonValue;
      walk.path[depth] = i;
      visit(node.items, item, walk, correlate === undefined ? NONE : correlate(item));
    }
    walk.path.length = depth;
  }
  const count = node.itemCount;
  if (count === undefined) return;
  const { min, max } = count;
  if (min !== undefined && value.length < min) {
    if (walk.onlyNoted()) return;
    const name = walk.name;
    walk.addInvalid(name, value.length, `${name} in body should have at least ${String(min)} items`);
  }
  if (max !== undefined && value.length > max) {
    if (walk.onlyNoted()) return;
    const name = walk.name;
    walk.add(tooMany(walk.field(name), value.length, max), `${name} in body should have at most ${String(max)} items`);
  }
}

function checkObject(node: SchemaNode, value: JsonObject, walk: Walk, old: Old): void {
  if (node.propertyCount !== undefined) checkPropertyCount(node.propertyCount.min, node.propertyCount.max, value, walk);
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
        if (walk.onlyNoted()) return;
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
    // What an object inherits are functions.
    if (member !== undefined && typeof member !== 'function') continue;
    if (walk.onlyNoted()) return;
    const name = `${walk.name}.${key}`;
    walk.add(required(walk.field(name)), `${name} in body is required`);
  }
}

/** Changes of apiVersion and kind at the root cannot be seen, so they are never excused. */
function childOld(old: Old, depth: number, key: string): Old {
  if (old === NONE || (depth === 0 && (key === 'kind' || key === 'apiVersion'))) return NONE;
  return oldProperty(old, key);
}

function checkPropertyCount(min: number | undefined, max: number | undefined, value: JsonObject, walk: Walk): void {
  let count = 0;
  for (const key in value) if (value[key] !== undefined) count++;
  if (min !== undefined && count < min) {
    if (walk.onlyNoted()) return;
    const name = walk.name;
    walk.addInvalid(name, count, `${name} in body should have at least ${String(min)} properties`);
  }
  if (max !== undefined && count > max) {
    if (walk.onlyNoted()) return;
    const name = walk.name;
    walk.add(tooMany(walk.field(name), count, max), `${name} in body should have at most ${String(max)} properties`);
  }
}

function checkEnum(node: SchemaNode, value: JsonValue, walk: Walk): void {
  if (typeof value === 'string' && node.enumStrings?.has(value) === true) return;
  const values = node.enumeration ?? [];
  if (typeof value !== 'string' && values.some((allowed) => convertsTo(value, allowed))) return;
  addEnumError(values, value, walk);
}

/** Equal after Go's conversion to the type of the allowed value: floats are truncated to integers, integers become characters. */
function convertsTo(value: JsonValue, allowed: JsonValue): boolean {
  if (typeof value === 'number' || typeof value === 'bigint') {
    const kind = kindOf(value);
    if (typeof allowed === 'string') {
      const code = Number(value);
      return kind === INTEGER && allowed === (code >= 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd');
    }
    if (typeof allowed !== 'number' && typeof allowed !== 'bigint') return false;
    if (kindOf(allowed) === INTEGER && kind === FLOAT) return Math.trunc(Number(value)) == allowed;
    return value == allowed;
  }
  return allowed !== null && deepEqual(value, allowed);
}

function addEnumError(values: readonly JsonValue[], value: JsonValue, walk: Walk): void {
  if (walk.onlyNoted()) return;
  const name = walk.name;
  const supported = values.map((allowed) => (typeof allowed === 'string' ? allowed : goJson(allowed)));
  walk.add(notSupported(walk.field(name), value, supported), `${name} in body should be one of ${supported.join(' ')}`);
}

/** Whether the value passes, without an error's text being made. Counts the passed checks where it does. */
function passes(node: SchemaNode, value: JsonValue, walk: Walk): boolean {
  const { failed, probing, matches } = walk;
  walk.failed = false;
  walk.probing = true;
  check(node, value, walk, NONE);
  const passed = !walk.failed;
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
  check(node, value, walk, NONE);
  const failures = { errors: walk.errors, messages: walk.messages, matches: walk.matches };
  walk.errors = errors;
  walk.messages = messages;
  walk.matches = matches;
  return failures;
}

/** Adds the failures of the alternative that passed the most checks, the first of equals. */
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
  if (logic.anyOf.length > 0 && !logic.anyOf.some((node) => passes(node, value, walk)) && !walk.onlyNoted()) {
    walk.addGeneral(`${quote(walk.name)} must validate at least one schema (anyOf)`);
    addBest(logic.anyOf, value, walk);
  }
  if (logic.oneOf.length > 0) checkOneOf(logic.oneOf, value, walk);
  if (logic.allOf.length > 0) checkAllOf(logic.allOf, value, walk);
  if (logic.not === undefined) return;
  const { matches } = walk;
  if (passes(logic.not, value, walk) && !walk.onlyNoted()) {
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
  if (passed === 1 || walk.onlyNoted()) return;
  const found = passed === 0 ? 'Found none valid' : `Found ${String(passed)} valid alternatives`;
  walk.addGeneral(`${quote(walk.name)} must validate one and only one schema (oneOf). ${found}`);
  if (passed === 0) addBest(nodes, value, walk);
}

function checkAllOf(nodes: readonly SchemaNode[], value: JsonValue, walk: Walk): void {
  const { failed } = walk;
  let passed = 0;
  for (const node of nodes) {
    walk.failed = false;
    check(node, value, walk, NONE);
    if (!walk.failed) passed++;
  }
  walk.failed = failed;
  if (passed === nodes.length || walk.onlyNoted()) return;
  const none = passed === 0 ? '. None validated' : '';
  walk.addGeneral(`${quote(walk.name)} must validate all the schemas (allOf)${none}`);
}
