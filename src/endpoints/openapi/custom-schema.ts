import { isObject, type JsonObject, type JsonValue, objectAt } from '../../apimachinery/json/json.js';
import type { JsonSchemaProps } from '../../schema/interfaces.js';

const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/** Keys of a schema that are published unchanged. */
const plainKeys = [
  'description',
  'type',
  'title',
  'format',
  'default',
  'example',
  'externalDocs',
  'maximum',
  'exclusiveMaximum',
  'minimum',
  'exclusiveMinimum',
  'maxLength',
  'minLength',
  'pattern',
  'maxItems',
  'minItems',
  'uniqueItems',
  'multipleOf',
  'enum',
  'maxProperties',
  'minProperties',
  'required',
  'nullable',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
] as const;

const junctors = ['allOf', 'anyOf', 'oneOf'] as const;

/** Reports whether a value is not published because it is false, empty or absent. */
function isEmpty(key: string, value: JsonValue | undefined): boolean {
  if (value === undefined || (value === null && key !== 'default')) return true;
  return value === false && key !== 'default' && key !== 'example'
    ? true
    : Array.isArray(value) && value.length === 0 && key !== 'default';
}

/** Converts a custom resource's schema to the form in which OpenAPI v3 publishes structural schemas. */
export function publishSchema(schema: JsonSchemaProps): JsonObject {
  const out: JsonObject = {};
  for (const key of plainKeys) {
    const value = schema[key];
    if (!isEmpty(key, value)) out[key] = value;
  }
  for (const key of junctors) {
    const list = schema[key];
    if (Array.isArray(list) && list.length > 0)
      out[key] = list.map((item) => (isObject(item) ? publishSchema(item) : item));
  }
  if (isObject(schema['not'])) out['not'] = publishSchema(schema['not']);
  if (isObject(schema['items'])) out['items'] = publishSchema(schema['items']);
  if (isObject(schema['properties'])) out['properties'] = mapSchemas(schema['properties'], publishSchema);
  const additional = schema['additionalProperties'];
  if (isObject(additional)) out['additionalProperties'] = publishSchema(additional);
  else if (typeof additional === 'boolean') out['additionalProperties'] = additional;
  if (schema['x-kubernetes-int-or-string'] === true) unfoldIntOrString(out);
  return out;
}

function mapSchemas(properties: JsonObject, convert: (schema: JsonObject) => JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const key of Object.keys(properties).sort()) {
    const property = properties[key];
    if (isObject(property)) out[key] = convert(property);
  }
  return out;
}

const integerOrString = (): JsonObject[] => [{ type: 'integer' }, { type: 'string' }];

function isIntegerOrString(value: JsonValue | undefined): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [first, second] = value;
  return isObject(first) && first['type'] === 'integer' && isObject(second) && second['type'] === 'string';
}

/** Expresses int-or-string in plain JSON schema, for validators that do not know the extension. */
function unfoldIntOrString(schema: JsonObject): void {
  const { anyOf, allOf } = schema;
  if (anyOf === undefined) {
    const first = Array.isArray(allOf) ? allOf[0] : undefined;
    if (isObject(first) && isIntegerOrString(first['anyOf'])) return;
    schema['anyOf'] = integerOrString();
  } else if (!isIntegerOrString(anyOf)) {
    schema['allOf'] = [{ anyOf: integerOrString() }, ...(Array.isArray(allOf) ? allOf : [])];
  }
}

/** How a version of OpenAPI refers to the definition of another type. */
export interface Dialect {
  reference(name: string, description: string): JsonObject;
  /** Adds no properties to objects that preserve unknown fields: kubectl would reject the unknown ones. */
  readonly skipsPreserving: boolean;
}

const CONVENTIONS = 'More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md';

/** kube-apiserver's descriptions of the properties that every object has, for custom resources and for lists. */
export const descriptions = {
  apiVersion: `APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. ${CONVENTIONS}#resources`,
  kind: `Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. ${CONVENTIONS}#types-kinds`,
  metadata: `Standard object's metadata. ${CONVENTIONS}#metadata`,
  items: (plural: string): string => `List of ${plural}. ${CONVENTIONS}`,
  listMetadata: `Standard list metadata. ${CONVENTIONS}#types-kinds`,
} as const;

/** kube-apiserver's descriptions of the same properties of embedded objects. */
const embedded = {
  apiVersion: `apiVersion defines the versioned schema of this representation of an object. ${CONVENTIONS}#resources`,
  kind: `kind is a string value representing the type of this object. In CamelCase. ${CONVENTIONS}#types-kinds`,
};

/** Returns the schemas of apiVersion, kind and metadata, which every object has. */
export const typeProperties = (dialect: Dialect, { apiVersion, kind }: typeof embedded = descriptions): JsonObject => ({
  apiVersion: { description: apiVersion, type: 'string' },
  kind: { description: kind, type: 'string' },
  metadata: dialect.reference(objectMeta, descriptions.metadata),
});

/** Adds apiVersion, kind and metadata to a schema, and to embedded resources in it. */
export function addTypes(schema: JsonObject, dialect: Dialect): void {
  addProperties(schema, typeProperties(dialect));
  addEmbedded(schema, dialect);
}

function addProperties(schema: JsonObject, added: JsonObject): void {
  schema['properties'] = { ...objectAt(schema, 'properties'), ...added };
}

function addEmbedded(schema: JsonObject, dialect: Dialect): void {
  const { properties, items, additionalProperties } = schema;
  if (isObject(properties)) {
    for (const key in properties) {
      const property = properties[key];
      if (isObject(property)) addEmbedded(property, dialect);
    }
  }
  if (isObject(items)) addEmbedded(items, dialect);
  if (isObject(additionalProperties)) addEmbedded(additionalProperties, dialect);
  if (schema['x-kubernetes-embedded-resource'] !== true) return;
  if (dialect.skipsPreserving && schema['x-kubernetes-preserve-unknown-fields'] === true) return;
  addProperties(schema, typeProperties(dialect, embedded));
  const required = Array.isArray(schema['required']) ? [...schema['required']] : [];
  for (const name of ['kind', 'apiVersion']) if (!required.includes(name)) required.push(name);
  schema['required'] = required;
}

/** Converts a published v3 schema, in place, to one that OpenAPI v2 clients understand. */
export function downConvert(schema: JsonObject): void {
  for (const key of ['allOf', 'anyOf', 'oneOf', 'not', 'default']) delete schema[key];
  const nullable = schema['nullable'] === true;
  const preserving = schema['x-kubernetes-preserve-unknown-fields'] === true;
  // kubectl breaks on a schema that has items or properties but no type.
  if (nullable || preserving) {
    delete schema['items'];
    delete schema['properties'];
  }
  if (nullable) {
    delete schema['type'];
    delete schema['nullable'];
  }
  if (schema['type'] === 'array' && schema['items'] === undefined) delete schema['type'];
  if (preserving && schema['type'] === 'object') delete schema['type'];
  dropNullableRequired(schema);
  const { properties, items, additionalProperties } = schema;
  if (isObject(properties)) for (const key in properties) if (isObject(properties[key])) downConvert(properties[key]);
  if (isObject(items)) downConvert(items);
  if (isObject(additionalProperties)) downConvert(additionalProperties);
}

/** Drops nullable fields from `required`: v2 has no null, so a field that may be null cannot be required. */
function dropNullableRequired(schema: JsonObject): void {
  const { properties, additionalProperties, required } = schema;
  if (!Array.isArray(required)) return;
  let kept = required;
  if (isObject(properties)) {
    kept = required.filter((name) => {
      const property = typeof name === 'string' ? properties[name] : undefined;
      return !(isObject(property) && property['nullable'] === true);
    });
  }
  if (isObject(additionalProperties) && additionalProperties['nullable'] === true) kept = [];
  if (kept.length === 0) delete schema['required'];
  else schema['required'] = kept;
}
