import { isObject, type JsonObject, type JsonValue, stringAt } from '../../apimachinery/json/json.js';
import { formatGroupVersionKind, type GroupVersionKind } from '../../apimachinery/meta/meta.js';
import { TypeBuilder } from './json-schema.js';
import type { Type } from './schema.js';

/** The types of the built-in kinds, of their published schemas; a type is made when it is first asked for. */
export class BuiltinTypes {
  private readonly builder: TypeBuilder;
  private readonly names = new Map<string, string>();

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
  }

  typeOf(kind: GroupVersionKind): Type | undefined {
    const name = this.names.get(formatGroupVersionKind(kind));
    return name === undefined ? undefined : this.builder.component(name);
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
