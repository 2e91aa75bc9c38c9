import { isObject, type JsonObject, type JsonValue, stringAt } from '../../apimachinery/json/json.js';
import { formatGroupVersionKind, type GroupVersionKind } from '../../apimachinery/meta/meta.js';
import { TypeBuilder } from './json-schema.js';
import type { Type } from './schema.js';

const REFERENCE = '#/components/schemas/';
const PRESERVE_UNKNOWN_FIELDS: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** The types of the built-in kinds, from their published schemas. Each type is built on first use. */
export class BuiltinTypes {
  private readonly builder: TypeBuilder;
  private readonly names = new Map<string, string>();
  private readonly components: Readonly<Record<string, JsonValue | undefined>>;
  private readonly whole = new Map<string, JsonObject>();

  /** `documents`: the schemas of each group version by name (`components.schemas` of its OpenAPI v3 document). */
  constructor(documents: readonly Readonly<Record<string, JsonValue | undefined>>[]) {
    const components: Record<string, JsonValue | undefined> = {};
    for (const document of documents) {
      for (const name of Object.keys(document)) {
        const schema = document[name];
        components[name] ??= schema;
        if (isObject(schema)) for (const kind of kindsOf(schema)) this.names.set(formatGroupVersionKind(kind), name);
      }
    }
    this.builder = new TypeBuilder(components);
    this.components = components;
  }

  typeOf(kind: GroupVersionKind): Type | undefined {
    const name = this.names.get(formatGroupVersionKind(kind));
    return name === undefined ? undefined : this.builder.component(name);
  }

  /** Returns the published schema of a kind with all references resolved. */
  schemaOf(kind: GroupVersionKind): JsonObject | undefined {
    const name = this.names.get(formatGroupVersionKind(kind));
    return name === undefined ? undefined : this.schemaNamed(name);
  }

  /** Returns the schema of a component with all references resolved. Recursive references become open objects. */
  schemaNamed(name: string): JsonObject {
    let whole = this.whole.get(name);
    if (whole === undefined) this.whole.set(name, (whole = this.resolve({ $ref: REFERENCE + name }, [])));
    return whole;
  }

  private resolve(schema: JsonObject, within: readonly string[]): JsonObject {
    const [only] = Array.isArray(schema['allOf']) ? schema['allOf'].filter(isObject) : [];
    const reference = stringAt(schema, '$ref') ?? stringAt(only, '$ref');
    if (reference !== undefined) {
      const name = reference.slice(REFERENCE.length);
      const component = this.components[name];
      if (within.includes(name) || !isObject(component)) return PRESERVE_UNKNOWN_FIELDS;
      return this.resolve(component, [...within, name]);
    }
    const out: JsonObject = { ...schema };
    for (const key of ['items', 'additionalProperties']) {
      const part = schema[key];
      if (isObject(part)) out[key] = this.resolve(part, within);
    }
    const { properties } = schema;
    if (isObject(properties)) {
      const resolved: JsonObject = {};
      for (const [key, part] of Object.entries(properties))
        if (isObject(part)) resolved[key] = this.resolve(part, within);
      out['properties'] = resolved;
    }
    return out;
  }
}

function kindsOf(schema: JsonObject): GroupVersionKind[] {
  const kinds = schema['x-kubernetes-group-version-kind'];
  if (!Array.isArray(kinds)) return [];
  return kinds.filter(isObject).map((kind) => ({
    group: stringAt(kind, 'group') ?? '',
    version: stringAt(kind, 'version') ?? '',
    kind: stringAt(kind, 'kind') ?? '',
  }));
}
