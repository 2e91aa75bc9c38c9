import { type DeclType, escapeIdentifier, type SchemaTypes } from '@annex/cel';
import { reachYieldPoint } from '@annex/cel/yield-point';
import { type FieldError, FieldPath } from '../../apimachinery/meta/field-error.js';
import { isObject, type JsonObject, type JsonValue, objectAt, objectsOf } from '../../apimachinery/json/json.js';
import type { Role } from '../node.js';
import { RUNTIME_BUDGET } from '../../expressions/limits.js';
import { newSchemaTypes } from './compilation.js';
import { Correlation, Ratchet } from './correlation.js';
import { rulesOf } from './rule.js';
import { PropertyRules, RuleNode, type Run } from './rule-node.js';

export interface RuleOptions {
  /** The old object; absent on create. */
  readonly old?: JsonValue | undefined;
  /** True to turn errors of parts that an update did not change into warnings. */
  readonly ratchet?: boolean;
  /** Receives the ratcheted errors. */
  readonly warn?: ((text: string) => void) | undefined;
  readonly path?: FieldPath;
  readonly budget?: number;
}

export interface RuleResult {
  readonly errors: readonly FieldError[];
  /** The remaining budget; negative if rules were skipped. */
  readonly budget: number;
}

/** Reports whether a schema has rules anywhere; rules only inside allOf do not count. */
function hasRules(schema: JsonObject | undefined): boolean {
  if (schema === undefined) return false;
  if (rulesOf(schema).length > 0 || hasRules(objectAt(schema, 'items'))) return true;
  if (hasRules(objectAt(schema, 'additionalProperties'))) return true;
  return Object.values(objectAt(schema, 'properties') ?? {}).some(
    (property) => isObject(property) && hasRules(property),
  );
}

/** Finds the parts of a schema that contain rules, including those only inside allOf. Visits each part once. */
class RuleLocator {
  private readonly known = new Map<JsonObject, boolean>();

  has(schema: JsonValue | undefined): boolean {
    if (!isObject(schema)) return false;
    let found = this.known.get(schema);
    if (found === undefined) {
      found = this.look(schema);
      this.known.set(schema, found);
    }
    return found;
  }

  private look(schema: JsonObject): boolean {
    if (rulesOf(schema).length > 0 || this.has(schema['items']) || this.has(schema['additionalProperties']))
      return true;
    const { allOf, properties } = schema;
    if (Array.isArray(allOf) && allOf.some((part) => this.has(part))) return true;
    if (!isObject(properties)) return false;
    for (const key in properties) if (this.has(properties[key])) return true;
    return false;
  }
}

/** The dependencies of all nodes of a rule tree. */
interface BuildContext {
  readonly registry: SchemaTypes;
  readonly locator: RuleLocator;
}

/** Builds the rule tree. `rules` is the schema with the rules, `node` the one that describes the values; they differ inside allOf. */
function build(
  rules: JsonObject,
  node: JsonObject,
  type: DeclType | undefined,
  building: BuildContext,
  role: Role,
): RuleNode | undefined {
  const { registry, locator } = building;
  if (!locator.has(rules)) return undefined;
  const result = new RuleNode(node, rulesOf(rules), type, registry, role);
  const descend = (key: 'items' | 'additionalProperties'): RuleNode | undefined => {
    const [inner, target] = [objectAt(rules, key), objectAt(node, key)];
    if (inner === undefined || target === undefined) return undefined;
    return build(inner, target, type?.elem, building, 'part');
  };
  result.items = descend('items');
  result.values = descend('additionalProperties');
  result.properties = buildProperties(rules, node, type, building);
  result.allOf = objectsOf(rules['allOf'])
    .map((schema) => build(schema, node, type, building, role))
    .filter((built) => built !== undefined);
  return result;
}

function buildProperties(
  rules: JsonObject,
  node: JsonObject,
  type: DeclType | undefined,
  building: BuildContext,
): PropertyRules[] {
  const built: PropertyRules[] = [];
  const targets = objectAt(node, 'properties') ?? {};
  for (const [name, property] of Object.entries(objectAt(rules, 'properties') ?? {})) {
    const target = Object.hasOwn(targets, name) ? targets[name] : undefined;
    if (!isObject(property) || !isObject(target) || !building.locator.has(property)) continue;
    built.push(new PropertyRules(name, () => buildProperty(name, property, target, type, building)));
  }
  return built;
}

function buildProperty(
  name: string,
  rules: JsonObject,
  node: JsonObject,
  type: DeclType | undefined,
  building: BuildContext,
): RuleNode | undefined {
  const identifier = escapeIdentifier(name);
  // Fields whose names cannot be written in expressions still have rules of their own.
  const fieldType = identifier === undefined ? building.registry.declare(node, 'part') : type?.fields?.get(identifier);
  return fieldType === undefined ? undefined : build(rules, node, fieldType, building, 'part');
}

/** The validation rules of one version of a type. */
export class RuleValidator {
  private root: RuleNode | undefined;
  private declared: { readonly type: DeclType | undefined } | undefined;
  private readonly registry = newSchemaTypes();

  constructor(
    private readonly schema: JsonObject,
    private readonly role: Role,
  ) {}

  /** Does the expensive work of the first validation against a large schema in advance, in steps. */
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
      this.declared = { type: this.registry.declare(this.schema, this.role) };
      reachYieldPoint();
    }
    return this.declared.type;
  }

  private tree(): RuleNode | undefined {
    const building = { registry: this.registry, locator: new RuleLocator() };
    this.root ??= build(this.schema, this.schema, this.declare(), building, this.role);
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

/** Returns the validator of a structural schema's rules, which compiles most of them on first use; undefined if there are none. */
export function compileRules(schema: JsonObject, role: Role = 'resource'): RuleValidator | undefined {
  return hasRules(schema) ? new RuleValidator(schema, role) : undefined;
}
