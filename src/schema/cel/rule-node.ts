import {
  type Adapter,
  type Bindings,
  adapterOf,
  type DeclType,
  type Environment,
  kubernetesEnvironment,
  Optional,
  type Outcome,
  type Program,
  type SchemaTypes,
  type Value,
  withTypeAndObjectMeta,
} from '@annex/cel';
import { reachYieldPoint } from '@annex/cel/yield-point';
import { FieldError, type FieldPath, forbidden, invalid, OMIT, required } from '../../apimachinery/meta/field-error.js';
import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import type { Role } from '../node.js';
import { OUT_OF_BUDGET, PER_CALL_LIMIT } from '../../expressions/limits.js';
import { type CompiledRule, compileNode } from './compilation.js';
import { KeyedItems, type Ratchet } from './correlation.js';
import { quote } from '../../apimachinery/meta/meta.js';
import { trimSpace } from '../../util/text/trim-space.js';
import { failureMessage, type Rule, ruleName } from './rule.js';

const MAX_MESSAGE_BYTES = 5 * 1024;

/** The state of one validation. */
export interface Run {
  readonly errors: FieldError[];
  readonly warn: ((text: string) => void) | undefined;
  budget: number;
}

/** The rules of a property and below it, built when the property is first encountered. */
export class PropertyRules {
  private made = false;
  private known: RuleNode | undefined;

  constructor(
    readonly key: string,
    private readonly make: () => RuleNode | undefined,
  ) {}

  get node(): RuleNode | undefined {
    if (!this.made) this.prepare();
    return this.known;
  }

  prepare(): void {
    if (this.made) return;
    this.made = true;
    this.known = this.make();
    // The result is kept, even if the write that first needed it is abandoned.
    reachYieldPoint();
  }
}

/** The rules of one node of a schema and those below it. */
export class RuleNode {
  items: RuleNode | undefined;
  values: RuleNode | undefined;
  properties: readonly PropertyRules[] = [];
  allOf: readonly RuleNode[] = [];
  private compiled: readonly CompiledRule[] | undefined;
  private adapter: Adapter | undefined;
  private readonly typeName: string;

  constructor(
    private readonly schema: JsonObject,
    private readonly rules: readonly Rule[],
    private readonly type: DeclType | undefined,
    private readonly registry: SchemaTypes,
    private readonly role: Role,
  ) {
    this.typeName = typeof schema['type'] === 'string' ? schema['type'] : '';
  }

  /** Compiles the rules on first use: most versions of most types are never written. */
  private compile(type: DeclType): readonly CompiledRule[] {
    const stored = kubernetesEnvironment('stored');
    const environments = { rule: (): Environment => stored, messageExpression: (): Environment => stored };
    return compileNode(this.rules, this.schema, type, this.registry, environments);
  }

  validate(
    run: Run,
    path: FieldPath,
    object: JsonValue | undefined,
    old: JsonValue | undefined,
    ratchet: Ratchet,
  ): void {
    if (object === null || object === undefined) return;
    if (this.rules.length > 0) this.evaluate(run, path, object, old ?? undefined, ratchet);
    if (run.budget < 0) return;
    for (const node of this.allOf) {
      node.validate(run, path, object, old, ratchet.above);
      if (run.budget < 0) return;
    }
    if (Array.isArray(object)) this.validateList(run, path, object, old, ratchet);
    else if (isObject(object)) this.validateMap(run, path, object, old, ratchet);
  }

  private validateMap(
    run: Run,
    path: FieldPath,
    object: JsonObject,
    old: JsonValue | undefined,
    ratchet: Ratchet,
  ): void {
    const oldMembers = isObject(old) && this.isCorrelatable() ? old : undefined;
    if (this.values !== undefined) {
      for (const key in object) {
        this.values.validate(run, path.key(key), object[key], oldMembers?.[key], ratchet.key(key));
        if (run.budget < 0) return;
      }
    }
    for (const property of this.properties) {
      const { key } = property;
      const value = object[key];
      if (value === undefined || value === null) continue;
      property.node?.validate(run, path.child(key), value, oldMembers?.[key], ratchet.key(key));
      if (run.budget < 0) return;
    }
  }

  private isCorrelatable(): boolean {
    const kind = this.schema['x-kubernetes-map-type'];
    return kind === undefined || kind === 'granular' || kind === 'atomic';
  }

  private validateList(
    run: Run,
    path: FieldPath,
    list: readonly JsonValue[],
    old: JsonValue | undefined,
    ratchet: Ratchet,
  ): void {
    if (this.items === undefined) return;
    const oldItems = Array.isArray(old) ? new KeyedItems(this.schema, old) : undefined;
    for (let i = 0; i < list.length; i++) {
      const item = list[i];
      if (item === undefined) continue;
      this.items.validate(run, path.index(i), item, oldItems?.find(item), ratchet.index(i));
      if (run.budget < 0) return;
    }
  }

  // --- the node's own rules

  private evaluate(run: Run, path: FieldPath, object: JsonValue, old: JsonValue | undefined, ratchet: Ratchet): void {
    if (this.type === undefined) {
      const why = 'failed to convert to declType for CEL validation rules';
      run.errors.push(invalid(path, this.typeName, `rule compiler initialization error: ${why}`));
      return;
    }
    if (run.budget <= 0) {
      this.stop(run, path, OUT_OF_BUDGET);
      return;
    }
    this.compiled ??= this.compile(this.type);
    this.adapter ??= adapterOf(this.role === 'resource' ? withTypeAndObjectMeta(this.schema) : this.schema);
    const self = this.adapter(object);
    const oldSelf = old === undefined ? undefined : this.adapter(old);
    for (const compiled of this.compiled) {
      this.evaluateRule(run, path, object, compiled, { self, oldSelf }, ratchet);
      if (run.budget < 0) return;
    }
  }

  private stop(run: Run, path: FieldPath, detail: string): void {
    run.errors.push(invalid(path, this.typeName, detail));
    run.budget = -1;
  }

  private evaluateRule(
    run: Run,
    path: FieldPath,
    object: JsonValue,
    compiled: CompiledRule,
    { self, oldSelf }: Values,
    ratchet: Ratchet,
  ): void {
    const { rule, program } = compiled;
    if (compiled.error !== undefined) {
      run.errors.push(invalid(path, this.typeName, `rule compile error: ${compiled.error}`));
      return;
    }
    if (program === undefined) return;
    const before = rule.optionalOldSelf === true ? optionalOf(oldSelf) : oldSelf;
    if (compiled.usesOldSelf && before === undefined) return;
    const outcome = program.evaluate({ self, oldSelf: before }, PER_CALL_LIMIT);
    if (outcome.cost > run.budget) {
      this.stop(run, path, OUT_OF_BUDGET);
      return;
    }
    run.budget -= outcome.cost;
    if (outcome.kind !== 'value') this.evaluationFailed(run, path, rule, outcome);
    else if (outcome.value !== true) this.ruleFailed(run, path, object, compiled, { self, oldSelf }, ratchet);
  }

  private evaluationFailed(run: Run, path: FieldPath, rule: Rule, outcome: Exclude<Outcome, { kind: 'value' }>): void {
    const name = ruleName(rule);
    if (outcome.kind === 'limit') {
      const why = `'${outcome.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${name}`;
      this.stop(run, path, why);
    } else if (outcome.message.startsWith('no such overload')) {
      const why = `'${outcome.message}': call arguments did not match a supported operator, function or macro signature for rule: ${name}`;
      run.errors.push(invalid(path, this.typeName, why));
    } else run.errors.push(invalid(path, this.typeName, `${outcome.message} evaluating rule: ${name}`));
  }

  private ruleFailed(
    run: Run,
    path: FieldPath,
    object: JsonValue,
    compiled: CompiledRule,
    bindings: { self: Value; oldSelf: Value | undefined },
    ratchet: Ratchet,
  ): void {
    const { rule, messageProgram } = compiled;
    const at = compiled.fieldPath === '' ? path : path.child(compiled.fieldPath);
    const add = (error: FieldError): void => {
      if (!compiled.usesOldSelf && ratchet.unchanged) run.warn?.(error.toString());
      else run.errors.push(error);
    };
    let detail = failureMessage(rule);
    if (messageProgram !== undefined) {
      const message = evaluateMessage(messageProgram, rule.messageExpression, bindings, run.budget);
      run.budget = message.budget;
      if (message.fatal !== undefined) {
        add(invalid(at, this.typeName, message.fatal));
        return;
      }
      detail = message.text ?? detail;
    }
    const composite = this.typeName === 'object' || this.typeName === 'array';
    add(errorFor(rule.reason, at, composite ? OMIT : object, detail));
  }
}

function errorFor(
  reason: string | undefined,
  path: FieldPath,
  value: JsonValue | typeof OMIT,
  detail: string,
): FieldError {
  switch (reason) {
    case 'FieldValueForbidden':
      return forbidden(path, detail);
    case 'FieldValueRequired':
      return required(path, detail);
    case 'FieldValueDuplicate':
      return new FieldError('FieldValueDuplicate', path.toString(), value, '');
    default:
      return invalid(path, value, detail);
  }
}

/** The values for a rule. Message expressions see the plain oldSelf, even if the rule sees an optional. */
interface Values {
  readonly self: Value;
  readonly oldSelf: Value | undefined;
}

const optionalOf = (value: Value | undefined): Value => (value === undefined ? Optional.none : new Optional(value));

interface MessageResult {
  /** If absent, the rule's plain message is used. */
  readonly text?: string;
  /** An error that ends the validation. */
  readonly fatal?: string;
  readonly budget: number;
}

/** Evaluates a messageExpression. A result that cannot be a message is ignored, but its cost counts. */
function evaluateMessage(program: Program, source: string, bindings: Bindings, budget: number): MessageResult {
  const outcome = program.evaluate(bindings, PER_CALL_LIMIT);
  if (outcome.cost > budget) {
    const fatal =
      'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run';
    return { fatal, budget: -1 };
  }
  if (outcome.kind === 'limit') {
    const fatal = `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${quote(source)}`;
    return { fatal, budget: -1 };
  }
  const left = budget - outcome.cost;
  if (outcome.kind === 'error' || typeof outcome.value !== 'string') return { budget: left };
  const text = trimSpace(outcome.value);
  const usable = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= MAX_MESSAGE_BYTES;
  return usable ? { text, budget: left } : { budget: left };
}
