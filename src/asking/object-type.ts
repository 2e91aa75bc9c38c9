import { type Adapter, adapterOf, type Environment, kubernetesEnvironment, SchemaTypes, types } from '@annex/cel';
import { isObject, type JsonObject, type JsonValue, objectAt } from '../apimachinery/json/json.js';
import type { ServedKind, ServedVersion } from '../registry/rest/served.js';

const STRING: JsonObject = { type: 'string' };
const INTEGER: JsonObject = { type: 'integer' };
const BOOLEAN: JsonObject = { type: 'boolean' };
const TIME: JsonObject = { type: 'string', format: 'date-time' };
const STRINGS: JsonObject = { type: 'object', additionalProperties: STRING };

/** The whole ObjectMeta, but for `fieldsV1`, whose fields are no fields of a type. */
const OBJECT_META: JsonObject = {
  type: 'object',
  properties: {
    name: STRING,
    generateName: STRING,
    namespace: STRING,
    selfLink: STRING,
    uid: STRING,
    resourceVersion: STRING,
    generation: INTEGER,
    creationTimestamp: TIME,
    deletionTimestamp: TIME,
    deletionGracePeriodSeconds: INTEGER,
    labels: STRINGS,
    annotations: STRINGS,
    ownerReferences: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
      items: {
        type: 'object',
        properties: {
          apiVersion: STRING,
          kind: STRING,
          name: STRING,
          uid: STRING,
          controller: BOOLEAN,
          blockOwnerDeletion: BOOLEAN,
        },
      },
    },
    finalizers: { type: 'array', 'x-kubernetes-list-type': 'set', items: STRING },
    managedFields: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          manager: STRING,
          operation: STRING,
          apiVersion: STRING,
          time: TIME,
          fieldsType: STRING,
          subresource: STRING,
        },
      },
    },
  },
};

const INT_OR_STRING: JsonObject = { 'x-kubernetes-int-or-string': true };

/** Returns a published schema of a built-in type in the form that definitions use. */
function asStructural(schema: JsonObject): JsonObject {
  if (schema['format'] === 'int-or-string') return INT_OR_STRING;
  // The only other choice in built-in types is a quantity, which is stored as a string.
  if (schema['type'] === undefined && Array.isArray(schema['oneOf'])) return STRING;
  const out: JsonObject = { ...schema };
  for (const key of ['items', 'additionalProperties']) {
    const part = schema[key];
    if (isObject(part)) out[key] = asStructural(part);
  }
  const properties = objectAt(schema, 'properties');
  if (properties !== undefined) {
    const made: Record<string, JsonValue> = {};
    for (const [name, part] of Object.entries(properties)) if (isObject(part)) made[name] = asStructural(part);
    out['properties'] = made;
  }
  return out;
}

/** A kind as far as expressions over its objects need it. */
export type AskedKind = ServedKind & Partial<Pick<ServedVersion, 'admission'>>;

function schemaOf({ admission, gvk, openApiSchema, type }: AskedKind): JsonObject {
  const schema = admission?.schemaOf(gvk) ?? openApiSchema ?? {};
  const given = type.custom ? schema : asStructural(schema);
  const properties = { ...objectAt(given, 'properties'), apiVersion: STRING, kind: STRING, metadata: OBJECT_META };
  return { ...given, type: 'object', properties };
}

/** The type of the objects of one version of a kind, as expressions see them. */
export class ObjectType {
  readonly adapt: Adapter;
  /** The environment of expressions over `object`. */
  readonly environment: Environment;
  /** The same with `now`, the time of the request. */
  readonly withNow: Environment;

  private constructor(served: AskedKind) {
    const schema = schemaOf(served);
    const registry = new SchemaTypes(served.gvk.kind);
    const declared = registry.declare(schema, 'resource');
    this.adapt = adapterOf(schema);
    this.environment = kubernetesEnvironment('stored').extend(
      [{ name: 'object', type: declared?.type ?? types.DYN }],
      (name) => registry.struct(name),
    );
    this.withNow = this.environment.extend([{ name: 'now', type: types.TIMESTAMP }]);
  }

  /** Each version has one type, which is made when it is first asked for. */
  static of(served: AskedKind): ObjectType {
    let type = known.get(served);
    if (type === undefined) known.set(served, (type = new ObjectType(served)));
    return type;
  }
}

const known = new WeakMap<ServedKind, ObjectType>();
