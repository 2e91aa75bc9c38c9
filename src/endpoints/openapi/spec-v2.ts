import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import { addTypes, type Dialect, downConvert, publishSchema } from './custom-schema.js';
import { customDefinition, type Operation, tagOf } from './operations.js';
import type { OpenApiGroupVersion, OpenApiKind } from './source.js';
import { parameterText } from './descriptions.js';
import { codeText, pathItems } from './paths.js';
import { type GroupVersionSpec, schemaPrefix } from './spec-v3.js';

const v2Prefix = '#/definitions/';

/** Builds the definitions of a group version in OpenAPI v2. */
export function definitionsV2(gv: OpenApiGroupVersion, spec: GroupVersionSpec): Record<string, JsonObject> {
  const custom = new Map(gv.custom ? gv.kinds.map((kind) => [customDefinition(gv, kind.kind), kind]) : []);
  const out: Record<string, JsonObject> = {};
  for (const name in spec.schemas) {
    const schema = spec.schemas[name];
    if (schema === undefined) continue;
    const kind = custom.get(name);
    out[name] = kind === undefined ? schemaV2(schema) : customV2(kind, schema);
  }
  return out;
}

/** Converts a schema to v2: without defaults, with references beside their descriptions, and with unions as strings, the closest form in v2. */
function schemaV2(schema: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const key in schema) {
    const value = schema[key];
    if (key === 'default') continue;
    if (key === 'oneOf') out['type'] = 'string';
    else if (key === 'allOf') Object.assign(out, referenceIn(value));
    else if (key === '$ref' && typeof value === 'string') out[key] = value.replace(schemaPrefix, v2Prefix);
    else if (key === 'properties' && isObject(value)) out[key] = mapValues(value);
    else if ((key === 'items' || key === 'additionalProperties') && isObject(value)) out[key] = schemaV2(value);
    else out[key] = value;
  }
  return out;
}

function mapValues(properties: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const key in properties) {
    const property = properties[key];
    out[key] = isObject(property) ? schemaV2(property) : property;
  }
  return out;
}

function referenceIn(allOf: JsonValue | undefined): JsonObject {
  const [first] = Array.isArray(allOf) ? allOf : [];
  const reference = isObject(first) ? first['$ref'] : undefined;
  return typeof reference === 'string' ? { $ref: reference.replace(schemaPrefix, v2Prefix) } : {};
}

const dialect: Dialect = {
  reference: (name, description) => ({ description, $ref: `${v2Prefix}${name}` }),
  skipsPreserving: true,
};

/** Builds the v2 schema of a custom resource. If it preserves unknown fields, its fields are omitted, or kubectl would reject the unknown ones. */
function customV2(kind: OpenApiKind, published: JsonObject): JsonObject {
  const marks = Object.fromEntries(Object.entries(published).filter(([key]) => markKeys.has(key)));
  if (kind.schema === undefined || kind.schema['x-kubernetes-preserve-unknown-fields'] === true) {
    return { type: 'object', ...marks };
  }
  const schema = publishSchema(kind.schema);
  downConvert(schema);
  addTypes(schema, dialect);
  return { ...schema, ...marks };
}

const markKeys: ReadonlySet<string> = new Set(['x-kubernetes-group-version-kind', 'x-kubernetes-selectable-fields']);

/** Builds the paths of a group version in OpenAPI v2. */
export const pathsV2 = (gv: OpenApiGroupVersion, operations: readonly Operation[]): JsonObject =>
  pathItems(operations, {
    operation: (one, query) => operationV2(gv, one, query),
    parameter: (parameter, type) => ({ uniqueItems: true, type, ...parameter }),
  });

function operationV2(gv: OpenApiGroupVersion, one: Operation, query: readonly JsonObject[]): JsonObject {
  const parameters: JsonObject[] = [];
  if (one.body !== undefined) {
    const schema = { $ref: `${v2Prefix}${one.body.definition}` };
    parameters.push({
      name: 'body',
      in: 'body',
      ...parameterText('body'),
      ...(one.body.required ? { required: true } : {}),
      schema,
    });
  }
  parameters.push(...query);
  const responses: JsonObject = {};
  for (const code of one.codes) {
    responses[code] = { description: codeText(code), schema: { $ref: `${v2Prefix}${one.answer}` } };
  }
  responses['401'] = { description: 'Unauthorized' };
  return {
    description: one.description,
    consumes: [...one.consumes],
    produces: [...one.produces],
    schemes: ['https'],
    tags: [tagOf(gv)],
    operationId: one.id,
    ...(parameters.length === 0 ? {} : { parameters }),
    responses,
    'x-kubernetes-action': one.action,
    'x-kubernetes-group-version-kind': { ...one.gvk },
  };
}
