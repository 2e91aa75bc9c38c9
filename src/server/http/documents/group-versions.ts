import { createHash } from 'node:crypto';
import type { ServedGroupVersion } from '../../../aggregation/api-services.js';
import { stringifyJson } from '../../../apimachinery/json/json.js';
import { apiResourceList } from '../../../endpoints/discovery/documents.js';
import type { ApiRegistry } from '../../../registry/generic/store/api-registry.js';

/** Digests by schema object, which stays the same as long as its definition does. */
const digests = new WeakMap<object, string>();

/** Returns the served group versions, those of each group in order of preference. */
export function groupVersions(registry: ApiRegistry): ServedGroupVersion[] {
  return registry.apiGroups().flatMap((group) =>
    group.versions.map((version, rank) => {
      const hash = createHash('sha256').update(stringifyJson(apiResourceList(group, version)));
      for (const digest of schemaDigests(registry, group.name, version.version)) hash.update(digest);
      return { group: group.name, version: version.version, rank, fingerprint: hash.digest('hex').slice(0, 16) };
    }),
  );
}

function schemaDigests(registry: ApiRegistry, group: string, version: string): string[] {
  const found: string[] = [];
  for (const { served } of registry.all()) {
    const { gvk, openApiSchema } = served;
    if (gvk.group !== group || gvk.version !== version || openApiSchema === undefined) continue;
    let digest = digests.get(openApiSchema);
    if (digest === undefined) {
      digest = createHash('sha256').update(stringifyJson(openApiSchema)).digest('hex');
      digests.set(openApiSchema, digest);
    }
    found.push(`${gvk.kind} ${digest}`);
  }
  return found.sort();
}
