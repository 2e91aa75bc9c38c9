import type { Adapter, DeclType, Environment, Outcome, Value } from '../../cel/index.js';
import {
  Optional,
  adapterOf,
  escapeIdentifier,
  kubernetesEnvironment,
  pauseNow,
  withTypeAndObjectMeta,
} from '../../cel/index.js';
import type { SchemaTypes } from '../../cel/index.js';
import type { FieldError } from '../../apimachinery/field-error.js';
import {
  FieldError as FieldProblem,
  FieldPath,
  OMIT,
  forbidden,
  invalid,
  required,
} from '../../apimachinery/field-error.js';
import type { JsonObject, JsonValue } from '../../apimachinery/json.js';
import { isObject, objectAt } from '../../apimachinery/json.js';
import { objectsOf } from '../../apimachinery/json-values.js';
import type { CompiledRule } from './compilation.js';
import { PER_CALL_LIMIT, RUNTIME_BUDGET, compileNode, newSchemaTypes } from './compilation.js';
import { Correlation, KeyedItems, Ratchet } from './correlation.js';
import { evaluateMessage } from './message.js';
import type { Rule } from './rule.js';
import { failureMessage, ruleName, rulesOf } from './rule.js';
import { WhereRulesAre } from './where-rules.js';

const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run';

export interface RuleOptions {
  /** Absent on create. */
  readonly old?: JsonValue | undefined;
  /** Errors of parts that an update did not change are warnings. */
  readonly ratchet?: boolean;
  /** Takes the errors that were let pass. */
  readonly warn?: ((text: string) => void) | undefined;
  readonly path?: FieldPath;
  readonly budget?: number;
}

export interface RuleResult {
  readonly errors: readonly FieldError[];
  /** What is left of the budget; negative if rules were left out. */
  readonly budget: number;
}

/** What one validation carries along. */
interface Run {
  readonly errors: FieldError[];
  readonly warn: ((text: string) => void) | undefined;
  budget: number;
}

/** The rules of a property and below it; prepared when the property is first met. */
class PropertyRules {
  private made = false;
  private known: RuleNode | undefined;

  constructor(
    readonly key: string,
    private readonly make: () => RuleNode | undefined,
  ) {}

  prepare(): void {
    this.known = this.node;
  }

  get node(): RuleNode | undefined {
    if (!this.made) {
      this.made = true;
      this.known = this.make();
      // What was made is kept, whatever becomes of the write that needed it first.
      pauseNow();
    }
    return this.known;
  }
}

/** The rules of one node of a schema and those below it. */
class RuleNode {
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
    private readonly isRoot: boolean,
  ) {
    this.typeName = typeof schema['type'] === 'string' ? schema['type'] : '';
  }

  /** Compiled when first needed: most versions of most types are never written to. */
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
    this.adapter ??= adapterOf(this.isRoot ? withTypeAndObjectMeta(this.schema) : this.schema);
    const self = this.adapter(object);
    const oldSelf = old === undefined ? undefined : this.adapter(old);
    for (const compiled of this.compiled) {
      this.evaluateRule(run, path, object, compiled, self, oldSelf, ratchet);
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
    self: Value,
    oldSelf: Value | undefined,
    ratchet: Ratchet,
  ): void {
    const { rule, program } = compiled;
    if (compiled.error !== undefined) {
      run.errors.push(invalid(path, this.typeName, `rule compile error: ${compiled.error}`));
      return;
    }
    if (program === undefined) return;
    const optional = rule.optionalOldSelf === true;
    if (compiled.usesOldSelf && oldSelf === undefined && !optional) return;
    const before = optional ? (oldSelf === undefined ? Optional.none : new Optional(oldSelf)) : oldSelf;
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
      return new FieldProblem('FieldValueDuplicate', path.toString(), value, '');
    default:
      return invalid(path, value, detail);
  }
}

/** Whether a schema has rules anywhere; rules inside allOf alone do not count. */
function hasRules(schema: JsonObject | undefined): boolean {
  if (schema === undefined) return false;
  if (rulesOf(schema).length > 0 || hasRules(objectAt(schema, 'items'))) return true;
  if (hasRules(objectAt(schema, 'additionalProperties'))) return true;
  return Object.values(objectAt(schema, 'properties') ?? {}).some(
    (property) => isObject(property) && hasRules(property),
  );
}

/** What all nodes of a tree of rules are made with. */
interface Building {
  readonly registry: SchemaTypes;
  readonly where: WhereRulesAre;
}

/** Builds the tree of rules. `rules` says where rules are, `node` what the values are; they differ inside allOf. */
function build(
  rules: JsonObject,
  node: JsonObject,
  type: DeclType | undefined,
  building: Building,
  isRoot: boolean,
): RuleNode | undefined {
  const { registry, where } = building;
  if (!where.has(rules)) return undefined;
  const result = new RuleNode(node, rulesOf(rules), type, registry, isRoot);
  const descend = (key: 'items' | 'additionalProperties'): RuleNode | undefined => {
    const [inner, target] = [objectAt(rules, key), objectAt(node, key)];
    if (inner === undefined || target === undefined) return undefined;
    return build(inner, target, type?.elem, building, isEmbedded(target));
  };
  result.items = descend('items');
  result.values = descend('additionalProperties');
  result.properties = buildProperties(rules, node, type, building);
  result.allOf = objectsOf(rules['allOf'])
    .map((schema) => build(schema, node, type, building, isRoot))
    .filter((built) => built !== undefined);
  return result;
}

const isEmbedded = (schema: JsonObject): boolean => schema['x-kubernetes-embedded-resource'] === true;

function buildProperties(
  rules: JsonObject,
  node: JsonObject,
  type: DeclType | undefined,
  building: Building,
): PropertyRules[] {
  const built: PropertyRules[] = [];
  const targets = objectAt(node, 'properties') ?? {};
  for (const [name, property] of Object.entries(objectAt(rules, 'properties') ?? {})) {
    const target = Object.hasOwn(targets, name) ? targets[name] : undefined;
    if (!isObject(property) || !isObject(target) || !building.where.has(property)) continue;
    built.push(new PropertyRules(name, () => buildProperty(name, property, target, type, building)));
  }
  return built;
}

function buildProperty(
  name: string,
  rules: JsonObject,
  node: JsonObject,
  type: DeclType | undefined,
  building: Building,
): RuleNode | undefined {
  const embedded = isEmbedded(node);
  const identifier = escapeIdentifier(name);
  // Fields whose names cannot be written in expressions still have rules of their own.
  const fieldType =
    identifier === undefined ? building.registry.declare(node, embedded) : type?.fields?.get(identifier)?.type;
  return fieldType === undefined ? undefined : build(rules, node, fieldType, building, embedded);
}

/** The validation rules of one version of a type. */
export class RuleValidator {
  private root: RuleNode | undefined;
  private declared: { readonly type: DeclType | undefined } | undefined;
  private readonly registry = newSchemaTypes();

  constructor(
    private readonly schema: JsonObject,
    private readonly isResourceRoot: boolean,
  ) {}

  /** Makes beforehand, in steps, what the first validation would take long for where the schema is large. */
  *prepare(): Generator<undefined, void, undefined> {
    this.declare();
    yield;
    for (const property of this.tree()?.properties ?? []) {
      yield;
      property.prepare();
    }
  }

  private declare(): DeclType | undefined {
    if (this.declared === undefined) {
      this.declared = { type: this.registry.declare(this.schema, this.isResourceRoot) };
      pauseNow();
    }
    return this.declared.type;
  }

  private tree(): RuleNode | undefined {
    const building = { registry: this.registry, where: new WhereRulesAre() };
    this.root ??= build(this.schema, this.schema, this.declare(), building, this.isResourceRoot);
    return this.root;
  }

  /** Evaluates the rules on a value that the schema has accepted. */
  validate(object: JsonValue, options: RuleOptions = {}): RuleResult {
    const { old, ratchet = false, warn, path = FieldPath.empty, budget = RUNTIME_BUDGET } = options;
    const run: Run = { errors: [], warn, budget };
    const correlation =
      ratchet && old !== undefined ? new Ratchet(new Correlation(object, old, this.schema), undefined) : Ratchet.none;
    this.tree()?.validate(run, path, object, old, correlation);
    return { errors: run.errors, budget: run.budget };
  }
}

/** Prepares the rules of a structural schema, most of it when they are first needed; undefined if it has none. */
export function compileRules(schema: JsonObject, isResourceRoot = true): RuleValidator | undefined {
  if (!hasRules(schema)) return undefined;
  return new RuleValidator(schema, isResourceRoot);
}
