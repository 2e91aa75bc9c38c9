import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../../apimachinery/meta/field-error.js';
import {
  type JsonObject,
  type JsonValue,
  isObject,
  objectAt,
  stringAt,
  textAt,
} from '../../../../apimachinery/json/json.js';
import { emptyMembersOf } from '../../../../apimachinery/scheme/empty-members.js';
import { validateDefaults } from '../../../../schema/defaulting/default-validation.js';
import { resolveFieldPath } from '../../../../schema/cel/field-path.js';
import type { JsonSchemaProps } from '../../../../schema/interfaces.js';
import { structuralError, validateStructural } from '../../../../schema/structural.js';
import { printItems, printSchema, setFieldNames } from '../go-print.js';
import { type InternalValidation, objectsAt, stringsAt } from '../internal.js';
import type { SchemaRequirements } from '../interfaces.js';
import { validateRuleDefinitions } from '../../../../schema/cel/definition.js';
import { compileRules } from '../../../../schema/cel/validator.js';
import { effectiveVersion } from '../../../../util/effective-version.js';
import { schemaHas } from '../visit.js';

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];
/** The maximum depth of a schema. kube-apiserver has no such limit except that of its JSON decoder. */
const MAX_DEPTH = 400;

/** Go's names of the fields allowed at the root of the schema if the status subresource is enabled. */
const ROOT_FIELDS =
  'Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations';
const ALLOWED_AT_ROOT = new Set(ROOT_FIELDS.split(' '));

/** Validates the schema of a version, or the common one. */
export function validateValidation(
  validation: InternalValidation | undefined,
  statusEnabled: boolean,
  requirements: SchemaRequirements,
  path: FieldPath,
  version: string,
): FieldError[] {
  const schema = validation?.schema;
  if (schema === undefined) return [];
  const at = path.child('openAPIV3Schema');
  if (isTooDeep(schema)) {
    return [forbidden(at, `must not nest deeper than ${String(MAX_DEPTH)} levels`)];
  }
  const errors = statusEnabled ? rootErrors(schema, path) : [];
  if (schema['nullable'] === true)
    errors.push(forbidden(path.child('openAPIV3Schema.nullable'), 'nullable cannot be true at the root'));
  // An unchanged schema was valid before.
  if (requirements.unchangedVersions.has(version)) return errors;
  const fault = requirements.structural ? structuralError(schema) : undefined;
  let structural = false;
  if (requirements.structural && fault === undefined) {
    const found = validateStructural(schema, at);
    const defaults = found.length > 0 ? [] : validateDefaultsOf(schema, at, requirements);
    errors.push(...found, ...defaults);
    structural = found.length === 0 && defaults.length === 0;
  }
  const found = new SchemaValidation(requirements).run(schema, at);
  errors.push(...found);
  if (structural) {
    // Rules at or above the path of a schema error are not compiled. Their fields are validated with the schema itself.
    const { expressions, total } = validateRuleDefinitions(schema, at, {
      known: requirements.knownExpressions,
      schemaErrors: found,
      compatibility: effectiveVersion.minCompatibility,
    });
    errors.push(...expressions, ...total);
  }
  // The reason why a schema cannot be read overlaps with the errors above, which are more specific.
  if (errors.length === 0 && fault !== undefined) errors.push(invalid(at, '', fault));
  return errors;
}

function validateDefaultsOf(schema: JsonSchemaProps, at: FieldPath, requirements: SchemaRequirements): FieldError[] {
  if (!schemaHas(schema, (part) => (part['default'] ?? null) !== null)) return [];
  return validateDefaults(schema, at, {
    requirePruned: requirements.prunedDefaults,
    validateRules: validateDefaultByRules,
  });
}

/** Runs the rules of a schema on its default: as an unchanged value and, because rules may distinguish the two, as a new one. */
function validateDefaultByRules(schema: JsonSchemaProps, value: JsonValue, path: FieldPath): readonly FieldError[] {
  const rules = compileRules(schema, schema['x-kubernetes-embedded-resource'] === true ? 'resource' : 'part');
  if (rules === undefined) return [];
  const { errors } = rules.validate(value, { old: value, path });
  return errors.length > 0 ? errors : rules.validate(value, { path }).errors;
}

/** Reports whether the schema exceeds the maximum depth. Two levels of JSON are one level of the schema. */
function isTooDeep(value: JsonValue | undefined, left = MAX_DEPTH * 2): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (left === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isTooDeep(item, left - 1));
  for (const key in value) if (isTooDeep(value[key], left - 1)) return true;
  return false;
}

function rootErrors(schema: JsonSchemaProps, path: FieldPath): FieldError[] {
  const type = textAt(schema, 'type');
  for (const name of setFieldNames(schema)) {
    if (name === 'Type') {
      if (type === 'object') continue;
      const text =
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
      return [invalid(path.child('openAPIV3Schema.type'), type, text)];
    }
    if (ALLOWED_AT_ROOT.has(name)) continue;
    const text = `only [${ROOT_FIELDS}] fields are allowed at the root of the schema if the status subresource is enabled`;
    return [invalid(path.child('openAPIV3Schema'), printSchema(schema), text)];
  }
  return [];
}

/** The constraints on a part of the schema because of its position. */
interface SchemaContext {
  /** The reason why defaults are forbidden, or undefined if they are allowed. */
  readonly noDefaults: string | undefined;
  readonly insideMeta: boolean;
  readonly isRoot: boolean;
}

class SchemaValidation {
  private readonly errors: FieldError[] = [];

  constructor(private readonly requirements: SchemaRequirements) {}

  run(schema: JsonSchemaProps, path: FieldPath): FieldError[] {
    this.visit(schema, path, { noDefaults: undefined, insideMeta: false, isRoot: true });
    return this.errors;
  }

  private visit(schema: JsonObject, path: FieldPath, place: SchemaContext): void {
    this.checkStandard(schema, path, place);
    if (schema['uniqueItems'] === true) {
      const text = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
      this.errors.push(forbidden(path.child('uniqueItems'), text));
    }
    this.visitProperties(schema, path, place);
    this.visitLogic(schema, path, { ...place, isRoot: false });
    if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
      const at = path.child('x-kubernetes-preserve-unknown-fields');
      this.errors.push(invalid(at, false, 'must be true or undefined'));
    }
    this.checkMapType(schema, path);
    this.checkListType(schema, path);
    this.checkMapKeys(schema, path);
    if (this.requirements.mapListKeys) this.errors.push(...validateMapListKeys(schema, path));
    for (const [i, rule] of objectsAt(schema, 'x-kubernetes-validations').entries()) {
      this.checkRule(schema, rule, path.child('x-kubernetes-validations').index(i));
    }
  }

  private visitProperties(schema: JsonObject, path: FieldPath, place: SchemaContext): void {
    const properties = objectAt(schema, 'properties') ?? {};
    const keys = Object.keys(properties);
    const additional = schema['additionalProperties'] ?? undefined;
    if (additional !== undefined) {
      const at = path.child('additionalProperties');
      if (keys.length > 0 && additional !== true) {
        this.errors.push(forbidden(at, 'additionalProperties and properties are mutual exclusive'));
      }
      const noDefaults = place.insideMeta
        ? 'inside additionalProperties applying to object metadata'
        : place.noDefaults;
      if (isObject(additional)) this.visit(additional, at, { ...place, noDefaults, isRoot: false });
    }
    const isResource = place.isRoot || schema['x-kubernetes-embedded-resource'] === true;
    for (const key of keys) {
      const isMeta = isResource && (key === 'metadata' || key === 'kind' || key === 'apiVersion');
      const below: SchemaContext = {
        noDefaults: isMeta && place.isRoot ? `in top-level ${key}` : place.noDefaults,
        insideMeta: place.insideMeta || isMeta,
        isRoot: false,
      };
      this.visit(objectAt(properties, key) ?? {}, path.child('properties').key(key), below);
    }
  }

  private visitLogic(schema: JsonObject, path: FieldPath, place: SchemaContext): void {
    const not = objectAt(schema, 'not');
    if (not !== undefined) this.visit(not, path.child('not'), place);
    for (const key of ['allOf', 'oneOf', 'anyOf']) {
      objectsAt(schema, key).forEach((part, i) => this.visit(part, path.child(key).index(i), place));
    }
    const definitions = objectAt(schema, 'definitions') ?? {};
    for (const key in definitions) {
      this.visit(objectAt(definitions, key) ?? {}, path.child('definitions').key(key), place);
    }
    const { items } = schema;
    if (isObject(items)) this.visit(items, path.child('items'), place);
    if (Array.isArray(items)) {
      items.forEach((item, i) => {
        if (isObject(item)) this.visit(item, path.child('items').index(i), place);
      });
    }
    const dependencies = objectAt(schema, 'dependencies') ?? {};
    for (const key in dependencies) {
      const dependency = dependencies[key];
      if (isObject(dependency)) this.visit(dependency, path.child('dependencies').key(key), place);
    }
  }

  /** Checks the general restrictions on OpenAPI v3 schemas. */
  private checkStandard(schema: JsonObject, path: FieldPath, place: SchemaContext): void {
    const type = textAt(schema, 'type');
    if (this.requirements.validTypes && type !== '' && !TYPES.includes(type)) {
      this.errors.push(notSupported(path.child('type'), type, TYPES));
    }
    if ((schema['default'] ?? null) !== null && place.noDefaults !== undefined) {
      this.errors.push(forbidden(path.child('default'), `must not be set ${place.noDefaults}`));
    }
    const unsupported = (key: string, set: boolean): void => {
      if (set) this.errors.push(forbidden(path.child(key), `${key} is not supported`));
    };
    unsupported('id', textAt(schema, 'id') !== '');
    unsupported('additionalItems', (schema['additionalItems'] ?? null) !== null);
    unsupported('patternProperties', hasMembers(schema['patternProperties']));
    unsupported('definitions', hasMembers(schema['definitions']));
    unsupported('dependencies', (schema['dependencies'] ?? emptyMembersOf(schema)?.['dependencies'] ?? null) !== null);
    unsupported('$ref', (schema['$ref'] ?? null) !== null);
    if (type === 'null') {
      const text = 'type cannot be set to null, use nullable as an alternative';
      this.errors.push(forbidden(path.child('type'), text));
    }
    const { items } = schema;
    if (Array.isArray(items) && items.length > 0) {
      this.errors.push(forbidden(path.child('items'), 'items must be a schema object and not an array'));
    }
    if (place.insideMeta && schema['x-kubernetes-embedded-resource'] === true) {
      const at = path.child('x-kubernetes-embedded-resource');
      this.errors.push(forbidden(at, 'must not be used inside of resource meta'));
    }
  }

  private checkMapType(schema: JsonObject, path: FieldPath): void {
    const mapType = stringAt(schema, 'x-kubernetes-map-type');
    if (mapType === undefined) return;
    const type = textAt(schema, 'type');
    if (type !== 'object')
      this.errors.push(wrongType(path, type, 'must be object if x-kubernetes-map-type is specified'));
    if (mapType === 'atomic' || mapType === 'granular') return;
    this.errors.push(notSupported(path.child('x-kubernetes-map-type'), mapType, ['atomic', 'granular']));
  }

  private checkListType(schema: JsonObject, path: FieldPath): void {
    const listType = stringAt(schema, 'x-kubernetes-list-type');
    if (listType === undefined) return;
    const type = textAt(schema, 'type');
    const items = objectAt(schema, 'items');
    if (type !== 'array') {
      this.errors.push(wrongType(path, type, 'must be array if x-kubernetes-list-type is specified'));
    } else if (this.requirements.atomicSets && items !== undefined) {
      const key = nonAtomicItems(schema);
      const value = items['x-kubernetes-list-type'] ?? null;
      const text = 'must be atomic as item of a list with x-kubernetes-list-type=set';
      if (key !== undefined) this.errors.push(invalid(path.child('items').child(key), value, text));
    }
    if (['atomic', 'set', 'map'].includes(listType)) return;
    this.errors.push(notSupported(path.child('x-kubernetes-list-type'), listType, ['atomic', 'set', 'map']));
  }

  private checkMapKeys(schema: JsonObject, path: FieldPath): void {
    const listType = stringAt(schema, 'x-kubernetes-list-type');
    const mapKeys = stringsAt(schema, 'x-kubernetes-list-map-keys');
    if (mapKeys.length > 0 && listType !== 'map') {
      const at = path.child('x-kubernetes-list-type');
      const text = 'must be map if x-kubernetes-list-map-keys is non-empty';
      this.errors.push(listType === undefined ? required(at, text) : invalid(at, listType, text));
    }
    if (listType !== 'map') return;
    if (mapKeys.length === 0) {
      const text = 'must not be empty if x-kubernetes-list-type is map';
      this.errors.push(required(path.child('x-kubernetes-list-map-keys'), text));
    }
    const items = schema['items'] ?? undefined;
    if (items === undefined) {
      this.errors.push(required(path.child('items'), 'must have a schema if x-kubernetes-list-type is map'));
    } else if (!isObject(items)) {
      const text = 'must only have a single schema if x-kubernetes-list-type is map';
      this.errors.push(invalid(path.child('items'), printItems(items), text));
    } else if (items['type'] !== 'object') {
      const text = "must be object if parent array's x-kubernetes-list-type is map";
      this.errors.push(invalid(path.child('items').child('type'), textAt(items, 'type'), text));
    } else this.checkKeyProperties(items, mapKeys, path);
  }

  private checkKeyProperties(items: JsonObject, mapKeys: readonly string[], path: FieldPath): void {
    const properties = objectAt(items, 'properties') ?? {};
    const seen = new Set<string>();
    const at = path.child('x-kubernetes-list-map-keys');
    for (const key of mapKeys) {
      const property = Object.hasOwn(properties, key) ? objectAt(properties, key) : undefined;
      if (property === undefined) {
        this.errors.push(invalid(at, [...mapKeys], 'entries must all be names of item properties'));
      } else if (property['type'] === 'array' || property['type'] === 'object') {
        const typePath = path.child('items').child('properties').key(key).child('type');
        const text = "must be a scalar type if parent array's x-kubernetes-list-type is map";
        this.errors.push(invalid(typePath, textAt(items, 'type'), text));
      }
      if (seen.has(key)) this.errors.push(invalid(at, [...mapKeys], 'must not contain duplicate entries'));
      seen.add(key);
    }
  }

  private checkRule(schema: JsonObject, rule: JsonObject, path: FieldPath): void {
    const [text, message, expression] = ['rule', 'message', 'messageExpression'].map((key) => textAt(rule, key));
    this.checkRuleText(text ?? '', message ?? '', path);
    if (expression !== '' && goTrim(expression ?? '') === '') {
      const detail = 'messageExpression must be non-empty if specified';
      this.errors.push(required(path.child('messageExpression'), detail));
    }
    const reason = stringAt(rule, 'reason');
    if (reason !== undefined && !REASONS.includes(reason)) {
      this.errors.push(notSupported(path.child('reason'), reason, REASONS));
    }
    const fieldPath = textAt(rule, 'fieldPath');
    if (fieldPath === '') return;
    const at = path.child('fieldPath');
    if (goTrim(fieldPath) === '') this.errors.push(invalid(at, fieldPath, 'must be non-empty if specified'));
    if (hasNewlines(fieldPath)) this.errors.push(invalid(at, fieldPath, 'must not contain line breaks'));
    if (structuralError(schema) === undefined && 'error' in resolveFieldPath(fieldPath, schema)) {
      this.errors.push(invalid(at, fieldPath, 'must be a valid path'));
    }
  }

  private checkRuleText(rule: string, message: string, path: FieldPath): void {
    const trimmed = goTrim(message);
    if (goTrim(rule) === '') this.errors.push(required(path.child('rule'), 'rule is not specified'));
    else if (message !== '' && trimmed === '') {
      this.errors.push(invalid(path.child('message'), message, 'must be non-empty if specified'));
    } else if (hasNewlines(trimmed)) {
      this.errors.push(invalid(path.child('message'), message, 'must not contain line breaks'));
    } else if (hasNewlines(goTrim(rule)) && trimmed === '') {
      this.errors.push(required(path.child('message'), 'message must be specified if rule contains line breaks'));
    }
  }
}

const hasNewlines = (text: string): boolean => /[\n\r]/.test(text);
const goTrim = (text: string): string => text.trim();
const hasMembers = (value: JsonValue | undefined): boolean => isObject(value) && Object.keys(value).length > 0;

function wrongType(path: FieldPath, type: string, text: string): FieldError {
  return type === '' ? required(path.child('type'), text) : invalid(path.child('type'), type, text);
}

/** Returns the key because of which the items of a set are not atomic, or undefined. */
export function nonAtomicItems(schema: JsonObject): string | undefined {
  const items = objectAt(schema, 'items');
  if (schema['x-kubernetes-list-type'] !== 'set' || items === undefined) return undefined;
  const listType = stringAt(items, 'x-kubernetes-list-type');
  if (items['type'] === 'array' && listType !== undefined && listType !== 'atomic') return 'x-kubernetes-list-type';
  if (items['type'] === 'object' && items['x-kubernetes-map-type'] !== 'atomic') return 'x-kubernetes-map-type';
  return undefined;
}

/** Checks that the items of sets and maps are not nullable, and that the keys of maps are always present. */
export function validateMapListKeys(schema: JsonObject, path: FieldPath): FieldError[] {
  const items = objectAt(schema, 'items');
  const listType = stringAt(schema, 'x-kubernetes-list-type');
  if (items === undefined || (listType !== 'set' && listType !== 'map')) return [];
  const errors: FieldError[] = [];
  const at = path.child('items');
  if (items['nullable'] === true) {
    errors.push(forbidden(at.child('nullable'), `cannot be nullable when x-kubernetes-list-type is ${listType}`));
  }
  if (listType === 'set') return errors;
  const always = stringsAt(items, 'required');
  const properties = objectAt(items, 'properties') ?? {};
  for (const key of stringsAt(schema, 'x-kubernetes-list-map-keys')) {
    const property = Object.hasOwn(properties, key) ? objectAt(properties, key) : undefined;
    if (property === undefined) continue;
    const keyPath = at.child('properties').key(key);
    const why = 'this property is in x-kubernetes-list-map-keys, so it';
    if (!always.includes(key) && (property['default'] ?? null) === null) {
      errors.push(required(keyPath.child('default'), `${why} must have a default or be a required property`));
    }
    if (property['nullable'] === true) errors.push(forbidden(keyPath.child('nullable'), `${why} cannot be nullable`));
  }
  return errors;
}
