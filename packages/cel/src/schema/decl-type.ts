import type { StructDecl } from '../declarations.js';
import type { Type } from '../types.js';
import { BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, listOf, mapOf, objectType } from '../types.js';
import { CelError } from '../values/value.js';
import type { Adapter, Json, JsonMap } from './json.js';
import { Preserved, isJsonMap, adaptBool, adaptDouble, adaptInt, adaptIntOrString, stringAdapter } from './json.js';
import { type Property, SchemaKeyedList, SchemaList, SchemaMap, SchemaObject, SchemaSet } from './values.js';

const RESERVED = new Set([
  'true',
  'false',
  'null',
  'in',
  'as',
  'break',
  'const',
  'continue',
  'else',
  'for',
  'function',
  'if',
  'import',
  'let',
  'loop',
  'package',
  'namespace',
  'return',
  'var',
  'void',
  'while',
]);

const ESCAPES: Record<string, string> = { __: '__underscores__', '.': '__dot__', '-': '__dash__', '/': '__slash__' };
const UNESCAPES: Record<string, string> = { underscores: '__', dot: '.', dash: '-', slash: '/' };

/** Escapes a property name as an identifier. Returns undefined if that is not possible. */
export function escapeIdentifier(name: string): string | undefined {
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  if (RESERVED.has(name)) return `__${name}__`;
  return name.replace(/__|[-./]/g, (part) => ESCAPES[part] ?? part);
}

/** Returns the property name of an escaped identifier, or undefined if the identifier is not escaped correctly. */
export function unescapeIdentifier(identifier: string): string | undefined {
  const parts: string[] = [];
  let at = 0;
  for (const match of identifier.matchAll(/__([^_]+)__/g)) {
    const [whole, content = ''] = match;
    const known =
      UNESCAPES[content] ?? (RESERVED.has(content) && whole.length === identifier.length ? content : undefined);
    if (known === undefined) return undefined;
    parts.push(identifier.slice(at, match.index), known);
    at = match.index + whole.length;
  }
  return parts.join('') + identifier.slice(at);
}

/** The largest request size, in bytes, that cost estimates assume. */
const MAX_REQUEST_BYTES = 3 * 1024 * 1024;
const MIN_STRING = 2;
const MAX_STRING = MAX_REQUEST_BYTES - 2;

/** A structural schema (the OpenAPI v3 schema of a CRD's version), as plain JSON. */
export type Schema = JsonMap;

/** The declared type of a schema node: the type that expressions see, and how large its values can be. */
export class DeclType {
  /** The prefix of the names of the object types within this type. */
  path = '';
  /** The fields of an object type, by identifier. */
  fields: ReadonlyMap<string, DeclType> | undefined;
  key: DeclType | undefined;
  elem: DeclType | undefined;

  constructor(
    readonly type: Type,
    /** The minimum number of bytes that a value takes in JSON. */
    readonly minSize: number,
    /** The upper bound of `size()`. */
    readonly maxElements = 0,
  ) {}
}

const STRING_KEY = new DeclType(STRING, MIN_STRING);

const child = (schema: Schema, key: string): Schema | undefined => {
  const value = schema[key];
  return isJsonMap(value) ? value : undefined;
};
const isEmbedded = (schema: Schema): boolean => schema['x-kubernetes-embedded-resource'] === true;
const texts = (value: Json): readonly string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
const bound = (value: Json): number | undefined =>
  typeof value === 'number' || typeof value === 'bigint' ? Math.max(0, Number(value)) : undefined;

/** The maximum length of a name. A generated name has at least one more byte than its prefix. */
const MAX_NAME = 253;

/** Returns the declared type of a name, which is a string of at most `limit` bytes, or of fewer if the schema says so. */
function nameType(declared: Schema | undefined, limit: number): Schema {
  const given = declared?.['maxLength'];
  return { type: 'string', maxLength: typeof given === 'number' && given < limit ? given : limit };
}

const objectMeta = (names: Schema | undefined): Schema => ({
  type: 'object',
  properties: {
    name: nameType(names && child(names, 'name'), MAX_NAME),
    generateName: nameType(names && child(names, 'generateName'), MAX_NAME - 1),
  },
});

/** Adds the fields of the type and object metadata, which exist at the root of every resource, whether or not the schema declares them. */
export function withTypeAndObjectMeta(schema: Schema): Schema {
  const properties = child(schema, 'properties');
  const type = (of: Schema | undefined, name: string): Json =>
    of === undefined ? undefined : child(of, name)?.['type'];
  const metadata = properties === undefined ? undefined : child(properties, 'metadata');
  const names = metadata === undefined ? undefined : child(metadata, 'properties');
  if (
    type(properties, 'kind') === 'string' &&
    type(properties, 'apiVersion') === 'string' &&
    metadata?.['type'] === 'object' &&
    type(names, 'name') === 'string' &&
    type(names, 'generateName') === 'string'
  ) {
    return schema;
  }
  const string: Schema = { type: 'string' };
  return { ...schema, properties: { ...properties, kind: string, apiVersion: string, metadata: objectMeta(names) } };
}

/** Returns the adapter of a list, which depends on the list type. The map keys are used only for lists of type map. */
function listAdapter(schema: Schema, items: Schema): Adapter {
  const adapt = adapterOf(items);
  const kind = schema['x-kubernetes-list-type'];
  const keys = texts(schema['x-kubernetes-list-map-keys']);
  return (json) => {
    if (!Array.isArray(json)) {
      return new CelError('invalid data, expected an array for the provided schema with type=array');
    }
    if (kind === 'map') return new SchemaKeyedList(json, adapt, keys);
    return kind === 'set' ? new SchemaSet(json, adapt) : new SchemaList(json, adapt);
  };
}

function objectAdapter(schema: Schema): Adapter {
  const wrong = new CelError('invalid data, expected a map for the provided schema with type=object');
  const properties = child(isEmbedded(schema) ? withTypeAndObjectMeta(schema) : schema, 'properties');
  if (properties !== undefined) {
    const byName = new Map<string, Property>();
    const byKey = new Map<string, Property>();
    for (const [key, value] of Object.entries(properties)) {
      if (!isJsonMap(value)) continue;
      const property = lazyProperty(key, value);
      byKey.set(key, property);
      byName.set(property.identifier, property);
      if (unescapeIdentifier(key) === key) byName.set(key, property);
    }
    const shape = { byName, byKey };
    return (json) => (isJsonMap(json) ? new SchemaObject(json, shape) : wrong);
  }
  const values = child(schema, 'additionalProperties');
  if (values !== undefined) {
    const adapt = adapterOf(values);
    return (json) => (isJsonMap(json) ? new SchemaMap(json, adapt) : wrong);
  }
  const shape = { byName: new Map<string, Property>(), byKey: new Map<string, Property>() };
  return (json) => (isJsonMap(json) ? new SchemaObject(json, shape) : wrong);
}

/** A property whose adapter is created on first use, so that properties that no expression reads cost nothing. */
function lazyProperty(key: string, schema: Schema): Property {
  let adapt: Adapter = (json) => {
    adapt = adapterOf(schema);
    return adapt(json);
  };
  const identifier = escapeIdentifier(key) ?? key;
  return { key, identifier, stored: storedAs(schema), adapt: (json) => adapt(json) };
}

const OWN_FORMATS = new Set(['duration', 'date', 'date-time', 'byte']);

function storedAs(schema: Schema): Property['stored'] {
  if (schema['x-kubernetes-int-or-string'] === true) return undefined;
  const { type, format } = schema;
  if (type === 'string') return typeof format === 'string' && OWN_FORMATS.has(format) ? undefined : type;
  return type === 'integer' || type === 'boolean' ? type : undefined;
}

function plainAdapter(schema: Schema): Adapter {
  if (schema['x-kubernetes-int-or-string'] === true) return adaptIntOrString;
  const items = child(schema, 'items');
  switch (schema['type']) {
    case 'object':
      return objectAdapter(schema);
    case 'array':
      if (items !== undefined) return listAdapter(schema, items);
      return () => new CelError('invalid array type, expected Items with a non-empty Schema');
    case 'string':
      return stringAdapter(typeof schema['format'] === 'string' ? schema['format'] : '');
    case 'integer':
      return adaptInt;
    case 'number':
      return adaptDouble;
    case 'boolean':
      return adaptBool;
    default:
      if (schema['x-kubernetes-preserve-unknown-fields'] === true) return (json) => new Preserved(json);
      return () =>
        new CelError(
          'invalid type, expected object, array, number, integer, boolean or string, or no type with x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ',
        );
  }
}

const adapters = new WeakMap<Schema, Adapter>();
const NULL_REFUSED = new CelError('invalid data, got null for schema with nullable=false');

/** Returns the function that converts stored JSON into values. JSON that does not match the schema becomes an error that says why. */
export function adapterOf(schema: Schema): Adapter {
  const known = adapters.get(schema);
  if (known !== undefined) return known;
  const nullable = schema['nullable'] === true;
  const plain = plainAdapter(schema);
  const whenNull = nullable ? null : NULL_REFUSED;
  const adapter: Adapter = (json) => (json === null || json === undefined ? whenNull : plain(json));
  adapters.set(schema, adapter);
  return adapter;
}

/** The object types declared in a schema, by name. */
export class SchemaTypes {
  private readonly structs = new Map<string, StructDecl>();

  constructor(
    /** The prefix of the type names in error messages; the path of the type follows it. */
    readonly prefix: string,
  ) {}

  struct(name: string): StructDecl | undefined {
    return this.structs.get(name);
  }

  /**
   * Declares the type of a schema's values, which are whole resources or parts of one. Returns undefined for nodes without a type, which
   * expressions cannot access.
   */
  declare(schema: Schema, role: 'resource' | 'part', path = this.prefix): DeclType | undefined {
    const declared = this.make(
      role === 'resource' || isEmbedded(schema) ? withTypeAndObjectMeta(schema) : schema,
      path,
    );
    if (declared !== undefined) declared.path = path;
    return declared;
  }

  private make(schema: Schema, path: string): DeclType | undefined {
    if (schema['x-kubernetes-int-or-string'] === true) {
      const max = bound(schema['maxLength']);
      return new DeclType(DYN, 1, max === undefined ? MAX_STRING : max * 4);
    }
    switch (schema['type']) {
      case 'array':
        return this.list(schema, path);
      case 'object':
        return this.object(schema, path);
      case 'string':
        return declareString(schema);
      case 'boolean':
        return new DeclType(BOOL, 4);
      case 'number':
        return new DeclType(DOUBLE, 1);
      case 'integer':
        return new DeclType(INT, 1);
      default:
        return undefined;
    }
  }

  private list(schema: Schema, path: string): DeclType | undefined {
    const items = child(schema, 'items');
    if (items === undefined) return undefined;
    const elem = this.declare(items, 'part', `${path}.@idx`);
    if (elem === undefined) return undefined;
    const maxItems = bound(schema['maxItems']) ?? Math.floor(MAX_STRING / (elem.minSize + 1));
    const list = new DeclType(listOf(elem.type), 2, maxItems);
    list.elem = elem;
    return list;
  }

  private object(schema: Schema, path: string): DeclType | undefined {
    const values = child(schema, 'additionalProperties');
    if (values === undefined) return this.structType(schema, path);
    const elem = this.declare(values, 'part', `${path}.@elem`);
    if (elem === undefined) return undefined;
    const maxProperties = bound(schema['maxProperties']) ?? Math.floor(MAX_STRING / (elem.minSize + 6));
    const map = new DeclType(mapOf(STRING, elem.type), 2, maxProperties);
    map.key = STRING_KEY;
    map.elem = elem;
    return map;
  }

  private structType(schema: Schema, path: string): DeclType {
    const required = new Set(texts(schema['required']));
    const fields = new Map<string, DeclType>();
    let minSize = 2;
    for (const [name, property] of Object.entries(child(schema, 'properties') ?? {})) {
      if (!isJsonMap(property)) continue;
      const identifier = escapeIdentifier(name);
      const type = this.declare(property, 'part', `${path}.${identifier ?? name}`);
      if (type === undefined) continue;
      if (identifier !== undefined) fields.set(identifier, type);
      if (required.has(name) && property['default'] === undefined)
        minSize += Buffer.byteLength(name) + type.minSize + 4;
    }
    const declared = new DeclType(objectType(path), minSize);
    declared.fields = fields;
    this.structs.set(path, {
      type: declared.type,
      // `self.namespace` is allowed in place of `self.__namespace__`.
      field: (name) => (fields.get(name) ?? (RESERVED.has(name) ? fields.get(`__${name}__`) : undefined))?.type,
    });
    return declared;
  }
}

function declareString(schema: Schema): DeclType {
  const max = bound(schema['maxLength']);
  switch (schema['format']) {
    case 'byte':
      return new DeclType(BYTES, MIN_STRING, max ?? MAX_STRING);
    case 'duration':
      return new DeclType(DURATION, 3, 32);
    case 'date':
      return new DeclType(TIMESTAMP, 12, 12);
    case 'date-time':
      return new DeclType(TIMESTAMP, 21, 32);
    default:
      return new DeclType(STRING, MIN_STRING, max === undefined ? longestOf(schema['enum']) : max * 4);
  }
}

/** Returns the maximum length of a string with these values, in bytes; that of any string if there are none. */
function longestOf(values: Json): number {
  if (!Array.isArray(values) || values.length === 0) return MAX_STRING;
  return Math.max(0, ...texts(values).map((value) => Buffer.byteLength(value)));
}
