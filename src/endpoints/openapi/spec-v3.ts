import { isObject, type JsonObject, type JsonValue, stringAt } from '../../apimachinery/json/json.js';
import { addTypes, descriptions, type Dialect, publishSchema, typeProperties } from './custom-schema.js';
import { customDefinition, type Definitions, meta, type Operation, operationsOf, tagOf } from './operations.js';
import { codeText, type PathDialect, pathItems } from './paths.js';
import { type OpenApiGroupVersion, type OpenApiKind, pathOf, type PublishedComponents } from './source.js';

export const schemaPrefix = '#/components/schemas/';

export const builtInInfo = { title: 'Kubernetes', version: '1.37' };

const dialect: Dialect = {
  reference: (name, description) => ({ description, allOf: [{ $ref: `${schemaPrefix}${name}` }] }),
  skipsPreserving: false,
};

/** The document of a group version, and its parts for OpenAPI v2. */
export interface GroupVersionSpec {
  readonly document: JsonObject;
  readonly operations: readonly Operation[];
  readonly schemas: Readonly<Record<string, JsonObject>>;
}

export function buildSpec(gv: OpenApiGroupVersion, published: PublishedComponents): GroupVersionSpec {
  const available = collect(gv, published);
  const definitions = definitionsOf(gv, available);
  const operations = operationsOf(gv, definitions);
  const schemas = reachable(operations, available);
  const document = {
    openapi: '3.0.0',
    info: gv.custom ? { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' } : builtInInfo,
    paths: pathItems(operations, pathDialect(gv)),
    components: gv.custom ? { schemas } : { schemas, securitySchemes },
    ...(gv.custom ? {} : { security: [{ BearerToken: [] }] }),
  };
  return { document, operations, schemas };
}

export const securitySchemes = {
  BearerToken: { type: 'apiKey', description: 'Bearer Token authentication', name: 'authorization', in: 'header' },
};

/** Collects the schemas that documents of the group version may refer to. */
function collect(gv: OpenApiGroupVersion, published: PublishedComponents): ReadonlyMap<string, JsonObject> {
  const found = new Map<string, JsonObject>();
  const own = published[pathOf(gv)];
  for (const components of own === undefined ? Object.values(published) : [own, ...Object.values(published)]) {
    for (const name in components) {
      const schema = components[name];
      if (schema !== undefined && !found.has(name)) found.set(name, schema);
    }
  }
  for (const [name, schema] of scaleSchemas) if (!found.has(name)) found.set(name, schema);
  if (!gv.custom) return found;
  for (const kind of gv.kinds) {
    found.set(customDefinition(gv, kind.kind), kindSchema(gv, kind));
    found.set(customDefinition(gv, kind.listKind), listSchema(gv, kind));
  }
  return found;
}

const gvkOf = (gv: OpenApiGroupVersion, kind: string): JsonObject[] => [{ group: gv.group, kind, version: gv.version }];

function selectable(kind: OpenApiKind): JsonObject {
  const fields = kind.selectableFields ?? [];
  return fields.length === 0 ? {} : { 'x-kubernetes-selectable-fields': fields.map((fieldPath) => ({ fieldPath })) };
}

function kindSchema(gv: OpenApiGroupVersion, kind: OpenApiKind): JsonObject {
  const schema: JsonObject = kind.schema === undefined ? { type: 'object' } : publishSchema(kind.schema);
  if (kind.schema !== undefined) addTypes(schema, dialect);
  return { ...schema, 'x-kubernetes-group-version-kind': gvkOf(gv, kind.kind), ...selectable(kind) };
}

function listSchema(gv: OpenApiGroupVersion, kind: OpenApiKind): JsonObject {
  const { apiVersion, kind: kindProperty } = typeProperties(dialect);
  return {
    description: `${kind.listKind} is a list of ${kind.kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      apiVersion,
      items: {
        description: descriptions.items(kind.plural),
        type: 'array',
        items: { $ref: `${schemaPrefix}${customDefinition(gv, kind.kind)}` },
      },
      kind: kindProperty,
      metadata: dialect.reference(`${meta}.ListMeta`, descriptions.listMetadata),
    },
    'x-kubernetes-group-version-kind': gvkOf(gv, kind.listKind),
    ...selectable(kind),
  };
}

const scaleName = 'io.k8s.api.autoscaling.v1.Scale';

/** Scale belongs to a group that is not served, so the published components do not contain it. */
const scaleSchemas: readonly (readonly [string, JsonObject])[] = [
  [
    scaleName,
    {
      description: 'The desired and current number of replicas of a resource.',
      type: 'object',
      properties: {
        ...typeProperties(dialect),
        spec: dialect.reference(`${scaleName}Spec`, 'The desired number.'),
        status: dialect.reference(`${scaleName}Status`, 'The current number.'),
      },
      'x-kubernetes-group-version-kind': [{ group: 'autoscaling', kind: 'Scale', version: 'v1' }],
    },
  ],
  [`${scaleName}Spec`, { type: 'object', properties: { replicas: { type: 'integer', format: 'int32' } } }],
  [
    `${scaleName}Status`,
    {
      type: 'object',
      required: ['replicas'],
      properties: { replicas: { type: 'integer', format: 'int32', default: 0 }, selector: { type: 'string' } },
    },
  ],
];

/** Returns a lookup of definition names by group, version and kind, as declared in the schemas. */
function definitionsOf(gv: OpenApiGroupVersion, available: ReadonlyMap<string, JsonObject>): Definitions {
  const names = new Map<string, string>();
  for (const [name, schema] of available) {
    const types = schema['x-kubernetes-group-version-kind'];
    if (!Array.isArray(types)) continue;
    for (const type of types) {
      if (!isObject(type)) continue;
      const key = ['group', 'version', 'kind'].map((name) => stringAt(type, name) ?? '').join('/');
      if (!names.has(key)) names.set(key, name);
    }
  }
  return (type) => names.get(`${type.group}/${type.version}/${type.kind}`) ?? customDefinition(gv, type.kind);
}

/** Returns the schemas that the operations refer to, directly or indirectly, sorted by name. */
function reachable(
  operations: readonly Operation[],
  available: ReadonlyMap<string, JsonObject>,
): Record<string, JsonObject> {
  const wanted = new Set<string>();
  const queue = operations.flatMap((one) =>
    one.body === undefined ? [one.answer] : [one.answer, one.body.definition],
  );
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    const schema = available.get(name);
    if (schema === undefined || wanted.has(name)) continue;
    wanted.add(name);
    references(schema, queue);
  }
  return Object.fromEntries([...wanted].sort().map((name) => [name, available.get(name) ?? {}]));
}

function references(value: JsonValue | undefined, into: string[]): void {
  if (Array.isArray(value)) {
    for (const item of value) references(item, into);
  } else if (isObject(value)) {
    const reference = value['$ref'];
    if (typeof reference === 'string' && reference.startsWith(schemaPrefix))
      into.push(reference.slice(schemaPrefix.length));
    for (const key in value) references(value[key], into);
  }
}

const pathDialect = (gv: OpenApiGroupVersion): PathDialect => ({
  operation: (one, query) => operationV3(gv, one, query),
  parameter: (parameter, type) => ({ ...parameter, schema: { type, uniqueItems: true } }),
});

const schemaOf = (definition: string): JsonObject => ({ schema: { $ref: `${schemaPrefix}${definition}` } });

const contentOf = (types: readonly string[], definition: string): JsonObject =>
  Object.fromEntries([...types].sort().map((type) => [type, schemaOf(definition)]));

function operationV3(gv: OpenApiGroupVersion, one: Operation, query: JsonObject[]): JsonObject {
  const responses: JsonObject = {};
  for (const code of one.codes) {
    responses[code] = { description: codeText(code), content: contentOf(one.produces, one.answer) };
  }
  responses['401'] = { description: 'Unauthorized' };
  return {
    tags: [tagOf(gv)],
    description: one.description,
    operationId: one.id,
    ...(query.length === 0 ? {} : { parameters: query }),
    ...(one.body === undefined
      ? {}
      : {
          requestBody: {
            content: contentOf(one.consumes, one.body.definition),
            ...(one.body.required ? { required: true } : {}),
          },
        }),
    responses,
    'x-kubernetes-action': one.action,
    'x-kubernetes-group-version-kind': { ...one.gvk },
  };
}
