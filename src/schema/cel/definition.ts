import {
  type DeclType,
  type Environment,
  estimateCost,
  escapeIdentifier,
  kubernetesEnvironment,
  type SchemaTypes,
} from '@annex/cel';
import {
  FieldError,
  type FieldPath,
  forbidden,
  internalError,
  invalid,
  notSupported,
  required,
} from '../../apimachinery/meta/field-error.js';
import { isObject, type JsonObject, type JsonValue, objectAt } from '../../apimachinery/json/json.js';
import { goJson } from '../../apimachinery/meta/meta.js';
import { type CompiledRule, compileNode, newSchemaTypes, type RuleEnvironments } from './compilation.js';
import { RULE_COST_LIMIT } from '../../expressions/limits.js';
import { CostTotals, costMessage, timesCardinality } from './cost-totals.js';
import { resolveFieldPath } from './field-path.js';
import { type Rule, rulesOf } from './rule.js';
import { trimSpace } from '../../util/text/trim-space.js';

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];
const MAX_REQUEST_BYTES = 3 * 1024 * 1024;

/** Rules and message expressions that were accepted before. */
export interface KnownExpressions {
  readonly rules: ReadonlySet<string>;
  readonly messageExpressions: ReadonlySet<string>;
}

export interface DefinitionOptions {
  /** Errors that other checks found in the schema. Rules at or above the place of one are not compiled. */
  readonly schemaErrors?: readonly FieldError[];
  /** The expressions of the stored definition, which may use anything that exists. */
  readonly known?: KnownExpressions;
  /** The minor version that new expressions must work with. */
  readonly compatibility?: number;
}

export interface DefinitionErrors {
  /** Errors of the fields of rules; kube-apiserver lists them among the schema's own errors. */
  readonly schema: readonly FieldError[];
  /** Errors of the expressions; they follow all errors of the schema. */
  readonly expressions: readonly FieldError[];
  /** Errors of the total cost; they come last. */
  readonly total: readonly FieldError[];
}

/** The schema at the position of a walk. Undefined where expressions are not compiled (allOf, anyOf …). */
interface Context {
  readonly schema: JsonObject;
  /** How often a value of this schema can occur in an object; undefined if unlimited. */
  readonly cardinality: number | undefined;
  type(): DeclType | undefined;
}

/** The position of a walk. */
interface Place {
  readonly path: FieldPath;
  readonly context: Context | undefined;
  /** The outermost enclosing list or map whose parts cannot be correlated between the old and the new object. */
  readonly uncorrelatable: FieldPath | undefined;
}

const limit = (value: JsonValue | undefined): number | undefined =>
  typeof value === 'number' || typeof value === 'bigint' ? Math.max(0, Number(value)) : undefined;

/** Returns how many values a value of a schema can hold directly; undefined if unlimited. */
function capacity(schema: JsonObject): number | undefined {
  if (schema['type'] === 'array') return limit(schema['maxItems']);
  if (schema['type'] !== 'object' || schema['additionalProperties'] === undefined) return 1;
  return limit(schema['maxProperties']);
}

function environmentsFor(options: DefinitionOptions): RuleEnvironments {
  const fresh = kubernetesEnvironment('new', options.compatibility);
  const stored = kubernetesEnvironment('stored');
  const pick = (known: ReadonlySet<string> | undefined, expression: string): Environment =>
    known?.has(expression) === true ? stored : fresh;
  return {
    rule: (expression) => pick(options.known?.rules, expression),
    messageExpression: (expression) => pick(options.known?.messageExpressions, expression),
  };
}

/** Checks the validation rules of one version's schema. */
class DefinitionCheck {
  readonly schemaErrors: FieldError[] = [];
  readonly expressionErrors: FieldError[] = [];
  readonly totals = new CostTotals();
  private readonly registry: SchemaTypes = newSchemaTypes();
  private readonly environments: RuleEnvironments;

  constructor(private readonly options: DefinitionOptions) {
    this.environments = environmentsFor(options);
  }

  root(schema: JsonObject, path: FieldPath): void {
    const context = this.context(schema, 1, () => this.registry.declare(schema, 'resource'));
    this.visit(schema, { path, context, uncorrelatable: undefined });
  }

  private context(schema: JsonObject, cardinality: number | undefined, make: () => DeclType | undefined): Context {
    let made: { type: DeclType | undefined } | undefined;
    return { schema, cardinality, type: () => (made ??= { type: make() }).type };
  }

  /** Returns the context of a part. Its type comes from the type of the whole, if that contains it. */
  private inner(
    outer: Context | undefined,
    schema: JsonObject,
    pick: (type: DeclType) => DeclType | undefined,
  ): Context | undefined {
    if (outer === undefined) return undefined;
    const held = capacity(outer.schema);
    const cardinality =
      outer.cardinality === undefined || held === undefined ? undefined : timesCardinality(outer.cardinality, held);
    return this.context(schema, cardinality, () => {
      const type = outer.type();
      return (type === undefined ? undefined : pick(type)) ?? this.registry.declare(schema, 'part');
    });
  }

  private visit(schema: JsonObject, place: Place): void {
    const { path, context } = place;
    const values = objectAt(schema, 'additionalProperties');
    if (values !== undefined) {
      const inner = this.inner(context, values, (type) => type.elem);
      this.visit(values, { ...place, path: path.child('additionalProperties'), context: inner });
    }
    this.visitProperties(schema, place);
    this.visitLogical(schema, place);
    const items = objectAt(schema, 'items');
    if (items !== undefined) {
      const keyed = schema['x-kubernetes-list-type'] === 'map';
      this.visit(items, {
        path: path.child('items'),
        context: this.inner(context, items, (type) => type.elem),
        uncorrelatable: place.uncorrelatable ?? (keyed ? undefined : path),
      });
    }
    this.checkRules(schema, place);
  }

  private visitProperties(schema: JsonObject, place: Place): void {
    const kind = schema['x-kubernetes-map-type'];
    const correlatable = kind === undefined || kind === 'granular' || kind === 'atomic';
    for (const [name, property] of Object.entries(objectAt(schema, 'properties') ?? {})) {
      if (!isObject(property)) continue;
      const identifier = escapeIdentifier(name);
      this.visit(property, {
        path: place.path.child('properties').key(name),
        context: this.inner(place.context, property, (type) =>
          identifier === undefined ? undefined : type.fields?.get(identifier),
        ),
        uncorrelatable: place.uncorrelatable ?? (correlatable ? undefined : place.path),
      });
    }
  }

  private visitLogical(schema: JsonObject, place: Place): void {
    const negated = objectAt(schema, 'not');
    if (negated !== undefined) this.visit(negated, { ...place, path: place.path.child('not'), context: undefined });
    for (const key of ['allOf', 'oneOf', 'anyOf']) {
      const parts = schema[key];
      if (!Array.isArray(parts)) continue;
      parts.forEach((part, i) => {
        if (isObject(part)) this.visit(part, { ...place, path: place.path.child(key).index(i), context: undefined });
      });
    }
  }

  private checkRules(schema: JsonObject, place: Place): void {
    const rules = rulesOf(schema);
    if (rules.length === 0) return;
    const at = place.path.child('x-kubernetes-validations');
    rules.forEach((rule, i) => {
      this.schemaErrors.push(...checkFields(rule, at.index(i), schema));
    });
    if (place.context === undefined || this.hasSchemaErrors(place.path)) return;
    const type = place.context.type();
    if (type === undefined) {
      const why =
        'internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations';
      this.expressionErrors.push(internalError(at, why));
      return;
    }
    const compiled = compileNode(rules, schema, type, this.registry, this.environments);
    compiled.forEach((entry, i) => this.checkCompiled(entry, at.index(i), place, type));
  }

  /** Reports whether an error was found at a place or below it. */
  private hasSchemaErrors(path: FieldPath): boolean {
    const prefix = path.toString();
    const below = (error: FieldError): boolean =>
      error.field === prefix || error.field.startsWith(`${prefix}.`) || error.field.startsWith(`${prefix}[`);
    return this.schemaErrors.some(below) || (this.options.schemaErrors ?? []).some(below);
  }

  private checkCompiled(entry: CompiledRule, at: FieldPath, place: Place, type: DeclType): void {
    const { rule } = entry;
    const repetitions = place.context?.cardinality ?? Math.trunc(MAX_REQUEST_BYTES / (type.minSize + 1));
    const cost = entry.program === undefined ? 0 : estimateCost(entry.program.expr, () => type).max;
    this.checkCost('estimated rule cost', at.child('rule'), timesCardinality(cost, repetitions));
    if (entry.error !== undefined) this.expressionErrors.push(new RuleError(at.child('rule'), rule, entry.error));
    if (entry.messageError !== undefined) {
      this.expressionErrors.push(new RuleError(at.child('messageExpression'), rule, entry.messageError));
    } else if (entry.messageProgram !== undefined) {
      const messageCost = estimateCost(entry.messageProgram.expr, () => type).max;
      this.checkCost('estimated messageExpression cost', at.child('messageExpression'), messageCost);
    }
    if (entry.usesOldSelf) {
      if (place.uncorrelatable === undefined) return;
      const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelatable.toString()}`;
      this.expressionErrors.push(invalid(at.child('rule'), rule.rule, why));
    } else if (rule.optionalOldSelf !== undefined) {
      const why = 'may not be set if oldSelf is not used in rule';
      this.expressionErrors.push(invalid(at.child('optionalOldSelf'), rule.optionalOldSelf, why));
    }
  }

  private checkCost(name: string, path: FieldPath, cost: number): void {
    if (cost > RULE_COST_LIMIT) {
      this.expressionErrors.push(forbidden(path, costMessage(name, cost, RULE_COST_LIMIT)));
    }
    this.totals.observe(path, cost);
  }
}

/** An error whose value is a whole rule, printed with its members in kube-apiserver's order. */
class RuleError extends FieldError {
  private readonly text: string;

  constructor(path: FieldPath, rule: Rule, detail: string) {
    super('FieldValueInvalid', path.toString(), rule.source, detail);
    const members: [string, JsonValue][] = [
      ['Rule', rule.rule],
      ['Message', rule.message],
      ['MessageExpression', rule.messageExpression],
      ['Reason', rule.reason ?? null],
      ['FieldPath', rule.fieldPath],
      ['OptionalOldSelf', rule.optionalOldSelf ?? null],
    ];
    this.text = `{${members.map(([name, value]) => `"${name}":${goJson(value)}`).join(',')}}`;
  }

  override get body(): string {
    return `Invalid value: ${this.text}: ${this.detail}`;
  }
}

const hasNewlines = (text: string): boolean => /[\n\r]/.test(text);

function checkFields(rule: Rule, at: FieldPath, schema: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const expression = trimSpace(rule.rule);
  const message = trimSpace(rule.message);
  if (expression === '') errors.push(required(at.child('rule'), 'rule is not specified'));
  else if (rule.message !== '' && message === '') {
    errors.push(invalid(at.child('message'), rule.message, 'must be non-empty if specified'));
  } else if (hasNewlines(message))
    errors.push(invalid(at.child('message'), rule.message, 'must not contain line breaks'));
  else if (hasNewlines(expression) && message === '') {
    errors.push(required(at.child('message'), 'message must be specified if rule contains line breaks'));
  }
  if (rule.messageExpression !== '' && trimSpace(rule.messageExpression) === '') {
    errors.push(required(at.child('messageExpression'), 'messageExpression must be non-empty if specified'));
  }
  if (rule.reason !== undefined && !REASONS.includes(rule.reason)) {
    errors.push(notSupported(at.child('reason'), rule.reason, REASONS));
  }
  if (rule.fieldPath === '') return errors;
  const path = at.child('fieldPath');
  if (trimSpace(rule.fieldPath) === '') errors.push(invalid(path, rule.fieldPath, 'must be non-empty if specified'));
  if (hasNewlines(rule.fieldPath)) errors.push(invalid(path, rule.fieldPath, 'must not contain line breaks'));
  if (resolveFieldPath(rule.fieldPath, schema).error !== undefined) {
    errors.push(invalid(path, rule.fieldPath, 'must be a valid path'));
  }
  return errors;
}

/** Checks the validation rules in a CRD version's openAPIV3Schema, which is located at `path`. */
export function validateRuleDefinitions(
  schema: JsonObject,
  path: FieldPath,
  options: DefinitionOptions = {},
): DefinitionErrors {
  const check = new DefinitionCheck(options);
  check.root(schema, path);
  return { schema: check.schemaErrors, expressions: check.expressionErrors, total: check.totals.errors(path) };
}
