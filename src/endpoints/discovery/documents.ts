import type { JsonObject, JsonValue } from '../../apimachinery/json/json.js';
import { formatGroupVersion } from '../../apimachinery/meta/meta.js';
import type { ApiGroup, ApiGroupVersion, ApiResourceEntry } from '../../registry/rest/interfaces.js';

/** Builds the response to `/api`. It has no apiVersion, as in kube-apiserver. */
export function apiVersions(core: ApiGroup | undefined, serverAddress: string): JsonObject {
  return {
    kind: 'APIVersions',
    versions: (core?.versions ?? []).map((version) => version.version),
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

function groupMembers(group: ApiGroup): JsonObject {
  const version = (name: string): JsonObject => ({
    groupVersion: formatGroupVersion({ group: group.name, version: name }),
    version: name,
  });
  return {
    name: group.name,
    versions: group.versions.map((one) => version(one.version)),
    preferredVersion: version(group.preferredVersion),
  };
}

/** Builds the response to `/apis`. */
export const apiGroupList = (groups: readonly ApiGroup[]): JsonObject => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: groups.map(groupMembers),
});

/** Builds the response to `/apis/<group>`. */
export const apiGroup = (group: ApiGroup): JsonObject => ({
  kind: 'APIGroup',
  apiVersion: 'v1',
  ...groupMembers(group),
});

/** Builds the response to `/apis/<group>/<version>` and `/api/v1`; the latter has no apiVersion, as in kube-apiserver. */
export function apiResourceList(group: ApiGroup, version: ApiGroupVersion): JsonObject {
  return {
    kind: 'APIResourceList',
    ...(group.name === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: formatGroupVersion({ group: group.name, version: version.version }),
    resources: version.resources.map(apiResource),
  };
}

function apiResource(entry: ApiResourceEntry): JsonObject {
  return {
    name: entry.name,
    singularName: entry.singularName,
    namespaced: entry.namespaced,
    ...optionalString('group', entry.group),
    ...optionalString('version', entry.version),
    kind: entry.kind,
    verbs: [...entry.verbs],
    ...optionalList('shortNames', entry.shortNames),
    ...optionalList('categories', entry.categories),
    ...optionalString('storageVersionHash', entry.storageVersionHash),
  };
}

const optionalString = (key: string, value: string | undefined): JsonObject =>
  value === undefined || value === '' ? {} : { [key]: value };

const optionalList = (key: string, values: readonly string[] | undefined): JsonObject =>
  values === undefined || values.length === 0 ? {} : { [key]: [...values] };

/** The type of the aggregated discovery document. */
export const aggregatedType = { group: 'apidiscovery.k8s.io', version: 'v2', kind: 'APIGroupDiscoveryList' };

/** Builds the aggregated discovery document for `/apis`, or for `/api` from the core group alone. */
export const groupDiscoveryList = (groups: readonly ApiGroup[]): JsonObject => ({
  kind: aggregatedType.kind,
  apiVersion: `${aggregatedType.group}/${aggregatedType.version}`,
  metadata: {},
  items: groups.map((group) => ({
    metadata: optionalString('name', group.name),
    versions: group.versions.map((version) => versionDiscovery(group, version)),
  })),
});

function versionDiscovery(group: ApiGroup, version: ApiGroupVersion): JsonObject {
  const resources = aggregate(
    version.resources,
    version.custom === true ? { group: group.name, version: version.version } : noVersion,
  );
  return {
    version: version.version,
    ...(resources.length === 0 ? {} : { resources }),
    freshness: version.stale === true ? 'Stale' : 'Current',
  };
}

const noVersion = { group: '', version: '' };

/** Nests subresources in their resources. The kinds of built-in types have no group and version, as in kube-apiserver. */
function aggregate(
  entries: readonly ApiResourceEntry[],
  own: { readonly group: string; readonly version: string },
): JsonObject[] {
  const kindOf = (entry: ApiResourceEntry): JsonObject => ({
    group: entry.responseKind?.group ?? entry.group ?? own.group,
    version: entry.responseKind?.version ?? entry.version ?? own.version,
    kind: entry.responseKind?.kind ?? entry.kind,
  });
  const subresources = new Map<string, JsonValue[]>();
  for (const entry of entries) {
    const slash = entry.name.indexOf('/');
    if (slash === -1) continue;
    const resource = entry.name.slice(0, slash);
    const list = subresources.get(resource) ?? [];
    list.push({ subresource: entry.name.slice(slash + 1), responseKind: kindOf(entry), verbs: [...entry.verbs] });
    subresources.set(resource, list);
  }
  const resources = entries.filter((entry) => !entry.name.includes('/'));
  return resources.map((entry) => {
    const below = subresources.get(entry.name);
    return {
      resource: entry.name,
      responseKind: kindOf(entry),
      scope: entry.namespaced ? 'Namespaced' : 'Cluster',
      singularResource: entry.singularName,
      verbs: [...entry.verbs],
      ...optionalList('shortNames', entry.shortNames),
      ...optionalList('categories', entry.categories),
      ...(below === undefined ? {} : { subresources: below }),
    };
  });
}
