import { type FieldError, FieldPath, forbidden, invalid, required } from '../apimachinery/meta/field-error.js';
import { isObject, type JsonObject, type JsonValue, objectAt, textOf } from '../apimachinery/json/json.js';
import { compareUtf8 } from '../apimachinery/meta/meta.js';
import { emptyMembersOf } from '../apimachinery/scheme/empty-members.js';
import { SCHEMA_STEP_PARTS } from '../scheduling/thresholds.js';
import type { JsonSchemaProps } from './interfaces.js';
import { batchesOf, partsOf } from './sliced.js';
import { type Pattern, patternFor } from '@annex/cel/re2';

/** The position of a schema, on which some messages depend. */
type Level = 'root' | 'item' | 'field';

const UNSUPPORTED: readonly (readonly [key: string, name: string, isSet: (value: JsonValue | undefined) => boolean])[] =
  [
    ['id', 'id', isSet],
    ['$schema', 'schema', isSet],
    ['$ref', '$ref', isSet],
    ['patternProperties', 'patternProperties', isSet],
    ['dependencies', 'dependencies', isSet],
    ['additionalItems', 'additionalItems', isPresent],
    ['definitions', 'definitions', isSet],
  ];

/** Reports whether a member that is a pointer in Go is set: to anything but null. */
function isPresent(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null;
}

/** Reports whether a member is set. False and empty texts, lists and maps count as unset. */
function isSet(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === '' || value === false) return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

const NOTHING: JsonObject = {};
const NO_SCHEMAS: readonly JsonObject[] = [];
const NO_PROPERTIES: readonly (readonly [string, JsonObject])[] = [];

function schemasAt(schema: JsonObject, key: string): readonly JsonObject[] {
  const value = schema[key];
  return Array.isArray(value) ? value.map((item) => (isObject(item) ? item : NOTHING)) : NO_SCHEMAS;
}

function propertiesOf(schema: JsonObject): readonly (readonly [string, JsonObject])[] {
  const properties = objectAt(schema, 'properties');
  if (properties === undefined) return NO_PROPERTIES;
  return Object.keys(properties).map((key) => [key, objectAt(properties, key) ?? NOTHING]);
}

/** Returns why a schema cannot be read as a structural schema at all, or undefined. */
export function structuralError(schema: JsonSchemaProps): string | undefined {
  const unsupported = unsupportedMember(schema);
  if (unsupported !== undefined) return `OpenAPIV3Schema '${unsupported}' is not supported`;
  const { not, items, properties, additionalProperties } = schema;
  if (isObject(not)) {
    const error = structuralError(not);
    if (error !== undefined) return error;
  }
  for (const key of LOGIC) {
    const parts = schema[key];
    if (!Array.isArray(parts)) continue;
    for (const part of parts) {
      const error = isObject(part) ? structuralError(part) : undefined;
      if (error !== undefined) return error;
    }
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  }
  if (Array.isArray(items) && items.length > 0) return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  let error = isObject(items) ? structuralError(items) : undefined;
  if (isObject(properties)) {
    for (const key in properties) {
      const property = properties[key];
      if (error === undefined && isObject(property)) error = structuralError(property);
    }
  }
  if (error === undefined && isObject(additionalProperties)) error = structuralError(additionalProperties);
  return error;
}

function unsupportedMember(schema: JsonObject): string | undefined {
  return UNSUPPORTED.find(([key, , test]) => test(schema[key]))?.[1];
}

const LOGIC = ['allOf', 'anyOf', 'oneOf'];

/** Reports, in steps, whether `structuralError` and `validateStructural` find no error. */
export function* isStructuralInSteps(schema: JsonSchemaProps): Generator<undefined, boolean> {
  // Each pattern takes milliseconds to compile. They are held to the end, so that this happens only here, and not again with many in one step.
  const held: Pattern[] = [];
  for (const { pattern } of yield* partsOf(schema)) {
    if (textOf(pattern) === '') continue;
    const compiled = patternFor(textOf(pattern));
    if (compiled.error() !== undefined) return false;
    held.push(compiled);
    yield;
  }
  const errors: FieldError[] = [];
  const parts: [JsonObject, Level][] = [[schema, 'root']];
  for (let i = 0; i < parts.length; i++) {
    if (i % SCHEMA_STEP_PARTS === SCHEMA_STEP_PARTS - 1) yield;
    const [part, level] = parts[i] ?? [NOTHING, 'field'];
    const logic = LOGIC.flatMap((key) => schemasAt(part, key));
    const { not, items, additionalProperties, 'x-kubernetes-preserve-unknown-fields': preserve } = part;
    if (isObject(not)) logic.push(not);
    if (logic.some((inner) => structuralError(inner) !== undefined)) return false;
    if (unsupportedMember(part) !== undefined || preserve === false || (Array.isArray(items) && items.length > 0))
      return false;
    partInvariants(part, level, FieldPath.empty, errors);
    if (level === 'root') valueCompleteness(part, part, FieldPath.empty, FieldPath.empty, errors);
    if (errors.length > 0) return false;
    if (isObject(items)) parts.push([items, 'item']);
    if (isObject(additionalProperties)) parts.push([additionalProperties, 'field']);
    for (const batch of batchesOf(part)) {
      for (const property of batch) parts.push([isObject(property) ? property : NOTHING, 'field']);
      yield;
    }
  }
  held.length = 0;
  return true;
}

/** Returns the errors that keep a schema from being structural, sorted by their texts. */
export function validateStructural(schema: JsonSchemaProps, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  invariants(schema, 'root', path, errors);
  valueCompleteness(schema, schema, path, path, errors);
  return errors
    .map((error) => ({ error, text: error.toString() }))
    .sort((a, b) => compareUtf8(a.text, b.text))
    .map(({ error }) => error);
}

const TYPE_MISSING: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

function invariants(schema: JsonObject, level: Level, path: FieldPath, errors: FieldError[]): void {
  const items = objectAt(schema, 'items');
  if (items !== undefined) invariants(items, 'item', path.child('items'), errors);
  for (const [key, property] of propertiesOf(schema)) {
    invariants(property, 'field', path.child('properties').key(key), errors);
  }
  const additional = schema['additionalProperties'];
  if (isObject(additional)) invariants(additional, 'field', path.child('additionalProperties'), errors);
  partInvariants(schema, level, path, errors);
}

/** Checks the invariants of a schema itself, without its parts. */
function partInvariants(schema: JsonObject, level: Level, path: FieldPath, errors: FieldError[]): void {
  const type = textOf(schema['type']);
  if (type === 'array' && objectAt(schema, 'items') === undefined)
    errors.push(required(path.child('items'), 'must be specified'));
  if (level === 'root' && isPresent(schema['additionalProperties']))
    errors.push(forbidden(path.child('additionalProperties'), 'must not be used at the root'));
  extensions(schema, path, errors);
  valueValidation(schema, 'here or in the first allOf', path, errors);
  typeInvariants(schema, type, level, path, errors);
  metadataInvariants(schema, level, path, errors);
}

function extensions(schema: JsonObject, path: FieldPath, errors: FieldError[]): void {
  if (schema['x-kubernetes-int-or-string'] !== true) return;
  for (const key of ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource']) {
    if (schema[key] !== true) continue;
    errors.push(invalid(path.child(key), true, 'must be false if x-kubernetes-int-or-string is true'));
  }
}

function typeInvariants(schema: JsonObject, type: string, level: Level, path: FieldPath, errors: FieldError[]): void {
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  const preserve = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const typePath = path.child('type');
  if (embedded && type !== 'object') {
    const text = 'must be object if x-kubernetes-embedded-resource is true';
    errors.push(type === '' ? required(typePath, text) : invalid(typePath, type, text));
  } else if (type === '' && schema['x-kubernetes-int-or-string'] !== true && !preserve) {
    errors.push(required(typePath, TYPE_MISSING[level]));
  }
  if (embedded && isPresent(schema['additionalProperties'])) {
    const text = 'must not be used if x-kubernetes-embedded-resource is set';
    errors.push(forbidden(path.child('additionalProperties'), text));
  }
  if (level === 'root' && type !== '' && type !== 'object') {
    errors.push(invalid(typePath, type, 'must be object at the root'));
  }
  if (embedded && !preserve && propertiesOf(schema).length === 0) {
    const text =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
    errors.push(required(path.child('properties'), text));
  }
}

const META_PROPERTIES = ['metadata', 'apiVersion', 'kind'] as const;

function metadataInvariants(schema: JsonObject, level: Level, path: FieldPath, errors: FieldError[]): void {
  const isResource = level === 'root' || schema['x-kubernetes-embedded-resource'] === true;
  if (!isResource) return;
  const properties = objectAt(schema, 'properties') ?? NOTHING;
  for (const key of META_PROPERTIES) {
    const property = properties[key];
    if (property === undefined) continue;
    const at = path.child('properties').key(key);
    const type = isObject(property) ? textOf(property['type']) : '';
    if (key !== 'metadata') {
      if (type !== 'string') errors.push(invalid(at.child('type'), type, 'must be string'));
      continue;
    }
    if (type !== 'object') errors.push(invalid(at.child('type'), type, 'must be object'));
    if (level === 'root' && isObject(property) && !restrictsNamesOnly(property)) {
      const text = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
      errors.push(forbidden(at, text));
    }
  }
}

function restrictsNamesOnly(metadata: JsonObject): boolean {
  return (
    Object.keys(metadata).every((key) => {
      if (key === 'type' || key === 'default' || !isMemberSet(metadata, key)) return true;
      if (key !== 'properties') return false;
      return propertiesOf(metadata).every(([name]) => name === 'name' || name === 'generateName');
    }) && !hasKeptEmpty(metadata, KEPT_EMPTY)
  );
}

/** Members that are pointers: any value except null counts as set. */
const POINTING = new Set(['default', 'items', 'not', 'additionalProperties', 'externalDocs', 'example']);
/** Lists that are copied to the structural schema even if they are empty, which makes it differ from one without them. */
const KEPT_EMPTY = ['required', 'x-kubernetes-list-map-keys', 'x-kubernetes-validations'];
const KEPT_EMPTY_IN_LOGIC = [...KEPT_EMPTY, 'properties'];

function isMemberSet(schema: JsonObject, key: string): boolean {
  const value = schema[key];
  return POINTING.has(key) ? isPresent(value) : isSet(value);
}

function hasKeptEmpty(schema: JsonObject, kept: readonly string[]): boolean {
  const empty = emptyMembersOf(schema);
  return empty !== undefined && kept.some((key) => empty[key] !== undefined);
}

/** Reports whether the list is exactly `anyOf: [{type: integer}, {type: string}]`. */
function isIntOrString(anyOf: readonly JsonObject[]): boolean {
  const hasOnlyType = (schema: JsonObject | undefined, type: string): boolean =>
    schema?.['type'] === type &&
    Object.keys(schema).every((key) => key === 'type' || !isMemberSet(schema, key)) &&
    !hasKeptEmpty(schema, KEPT_EMPTY_IN_LOGIC);
  return anyOf.length === 2 && hasOnlyType(anyOf[0], 'integer') && hasOnlyType(anyOf[1], 'string');
}

/** Where a schema may list types as `anyOf: [{type: integer}, {type: string}]`. */
type IntOrString = 'here or in the first allOf' | 'here' | 'nowhere';

function valueValidation(schema: JsonObject, intOrString: IntOrString, path: FieldPath, errors: FieldError[]): void {
  const anyOf = schemasAt(schema, 'anyOf');
  if (intOrString === 'nowhere' || !isIntOrString(anyOf)) {
    anyOf.forEach((part, i) => nested(part, 'nowhere', path.child('anyOf').index(i), errors));
  }
  schemasAt(schema, 'allOf').forEach((part, i) => {
    const inPart = intOrString === 'here or in the first allOf' && i === 0 ? 'here' : 'nowhere';
    nested(part, inPart, path.child('allOf').index(i), errors);
  });
  schemasAt(schema, 'oneOf').forEach((part, i) => nested(part, 'nowhere', path.child('oneOf').index(i), errors));
  const not = objectAt(schema, 'not');
  if (not !== undefined) nested(not, 'nowhere', path.child('not'), errors);
  const pattern = textOf(schema['pattern']);
  const error = pattern === '' ? undefined : patternFor(pattern).error();
  if (error !== undefined) {
    errors.push(invalid(path.child('pattern'), pattern, `must be a valid regular expression, but isn't: ${error}`));
  }
}

const FORBIDDEN_IN_LOGIC: readonly (readonly [key: string, detail: string])[] = [
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
];

/** Members for which any value except null counts as set. */
const BY_PRESENCE = new Set(['default', 'x-kubernetes-list-type', 'x-kubernetes-map-type']);

/** Checks a schema below anyOf, allOf, oneOf or not, which may only validate values. */
function nested(schema: JsonObject, intOrString: 'here' | 'nowhere', path: FieldPath, errors: FieldError[]): void {
  valueValidation(schema, intOrString, path, errors);
  const items = objectAt(schema, 'items');
  if (items !== undefined) nested(items, 'nowhere', path.child('items'), errors);
  for (const [key, property] of propertiesOf(schema)) {
    nested(property, 'nowhere', path.child('properties').key(key), errors);
  }
  if (textOf(schema['type']) !== '') errors.push(forbidden(path.child('type'), 'must be empty to be structural'));
  const { additionalProperties } = schema;
  if (isObject(additionalProperties) || additionalProperties === true) {
    errors.push(forbidden(path.child('additionalProperties'), 'must be undefined to be structural'));
  }
  for (const [key, detail] of FORBIDDEN_IN_LOGIC) {
    const value = schema[key];
    if (BY_PRESENCE.has(key) ? isPresent(value) : isSet(value)) errors.push(forbidden(path.child(key), detail));
  }
  if (propertiesOf(schema).some(([key]) => key === 'metadata')) {
    errors.push(forbidden(path.child('properties').key('metadata'), 'must not be specified in a nested context'));
  }
}

/** Checks that everything validated by the logic is also specified outside it. */
function valueCompleteness(
  schema: JsonObject,
  structure: JsonObject,
  path: FieldPath,
  at: FieldPath,
  errors: FieldError[],
): void {
  const not = objectAt(schema, 'not');
  if (not !== undefined) nestedCompleteness(not, structure, path, at.child('not'), errors);
  for (const key of LOGIC) {
    schemasAt(schema, key).forEach((part, i) =>
      nestedCompleteness(part, structure, path, at.child(key).index(i), errors),
    );
  }
}

function nestedCompleteness(
  schema: JsonObject,
  structure: JsonObject | undefined,
  path: FieldPath,
  at: FieldPath,
  errors: FieldError[],
): void {
  if (structure === undefined) {
    errors.push(required(path, `because it is defined in ${at.toString()}`));
    return;
  }
  valueCompleteness(schema, structure, path, at, errors);
  const items = objectAt(schema, 'items');
  if (items !== undefined) {
    nestedCompleteness(items, objectAt(structure, 'items'), path.child('items'), at.child('items'), errors);
  }
  const properties = objectAt(structure, 'properties');
  for (const [key, property] of propertiesOf(schema)) {
    const keyPath = path.child('properties').key(key);
    const keyAt = at.child('properties').key(key);
    nestedCompleteness(
      property,
      properties !== undefined && Object.hasOwn(properties, key) ? (objectAt(properties, key) ?? {}) : undefined,
      keyPath,
      keyAt,
      errors,
    );
  }
}
