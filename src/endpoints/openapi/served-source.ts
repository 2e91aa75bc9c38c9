import { readdirSync } from 'node:fs';
import { dataFile, readDataFile } from '../../apimachinery/scheme/data-files.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { describeSchemas } from './descriptions.js';
import type { OpenApiGroupVersion, OpenApiKind, OpenApiSource, PublishedComponents } from './source.js';
import type { ApiRegistry, InstalledApi } from '../../registry/generic/store/api-registry.js';

/**
 * Loads the published schemas by group version: `apis__events.k8s.io__v1.json` holds those of `apis/events.k8s.io/v1`. The kinds
 * that Annex acts on get descriptions, for `kubectl explain`.
 */
export function publishedComponents(): PublishedComponents {
  const components: Record<string, Readonly<Record<string, JsonObject>>> = {};
  for (const name of readdirSync(dataFile('openapi'))) {
    if (!name.endsWith('.json')) continue;
    // These files ship with the package and have this shape.
    const schemas = readDataFile('openapi', name) as Record<string, JsonObject>;
    describeSchemas(schemas);
    components[name.slice(0, -'.json'.length).replaceAll('__', '/')] = schemas;
  }
  return components;
}

/** Returns the served group versions in the form that OpenAPI needs. A group version that has not changed stays the same object. */
export function openApiSource(registry: ApiRegistry): OpenApiSource {
  const known = new Map<string, { readonly apis: readonly InstalledApi[]; readonly value: OpenApiGroupVersion }>();
  let all: readonly OpenApiGroupVersion[] | undefined;
  registry.onChange(() => {
    all = undefined;
  });
  return {
    groupVersions() {
      all ??= collect(registry, known);
      return all;
    },
  };
}

function collect(
  registry: ApiRegistry,
  known: Map<string, { readonly apis: readonly InstalledApi[]; readonly value: OpenApiGroupVersion }>,
): readonly OpenApiGroupVersion[] {
  const grouped = new Map<string, InstalledApi[]>();
  for (const api of registry.all()) {
    const { group, version } = api.served.gvk;
    const key = `${group}/${version}`;
    grouped.set(key, [...(grouped.get(key) ?? []), api]);
  }
  for (const key of known.keys()) if (!grouped.has(key)) known.delete(key);
  return [...grouped].map(([key, apis]) => {
    const before = known.get(key);
    if (before?.apis.length === apis.length && before.apis.every((api, i) => api === apis[i])) return before.value;
    const slash = key.lastIndexOf('/');
    const group = key.slice(0, slash);
    const version = key.slice(slash + 1);
    const value = { group, version, custom: !registry.isBuiltIn(group, version), kinds: apis.map(kindOf) };
    known.set(key, { apis, value });
    return value;
  });
}

function kindOf({ served }: InstalledApi): OpenApiKind {
  const { type } = served;
  const prefix = `${type.resource}/`;
  return {
    kind: type.kind,
    listKind: type.listKind,
    plural: type.resource,
    namespaced: type.namespaced,
    verbs: served.verbs,
    noProtobuf: type.noProtobuf,
    schema: served.openApiSchema,
    selectableFields: served.version.selectableFields,
    subresources: served.discovery
      .filter((entry) => entry.name.startsWith(prefix))
      .map(({ name, verbs, kind, group, version }) => ({
        name: name.slice(prefix.length),
        verbs,
        type: group === undefined || version === undefined ? undefined : { group, version, kind },
      })),
  };
}
