import type { ApiRegistry, InstalledApi } from '../registry/generic/store/api-registry.js';
import type { Lister } from '../registry/rest/storage.js';

/** The source of a Query or a View. */
export interface SourceName {
  readonly group: string;
  /** '' for the preferred one. */
  readonly version: string;
  readonly resource: string;
}

/** Returns a type that can be listed, in a version or in the first one that discovery shows. */
export function sourceOf(registry: ApiRegistry, { group, version, resource }: SourceName): ListableApi | undefined {
  const versions = registry.apiGroups().find(({ name }) => name === group)?.versions ?? [];
  const wanted = version === '' ? versions.map((of) => of.version) : [version];
  for (const of of wanted) {
    const api = registry.lookup(group, of, resource);
    if (api !== undefined && isListable(api)) return api;
  }
  return undefined;
}

type ListableApi = InstalledApi & { readonly storage: Lister };

const isListable = (api: InstalledApi): api is ListableApi => 'list' in api.storage;
