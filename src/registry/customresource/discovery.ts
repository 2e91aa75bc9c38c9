import { storageVersionHash } from '../generic/store/storage-version-hash.js';
import type { ApiResourceEntry } from '../rest/interfaces.js';
import type { Definition, DefinitionVersion } from './definition.js';

export const VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const SUBRESOURCE_VERBS = ['get', 'patch', 'update'];

/** Returns the discovery entries of a version: the resource and its subresources. */
export function discoveryEntries(definition: Definition, version: DefinitionVersion): ApiResourceEntry[] {
  const { names, namespaced, group } = definition;
  const entry: ApiResourceEntry = {
    name: names.plural,
    singularName: names.singular,
    namespaced,
    kind: names.kind,
    verbs: VERBS,
    shortNames: names.shortNames,
    categories: names.categories,
    storageVersionHash: storageVersionHash(group, definition.storageVersion, names.kind),
  };
  const entries = [entry];
  const base = { singularName: '', namespaced, verbs: SUBRESOURCE_VERBS };
  if (version.hasStatus) entries.push({ ...base, name: `${names.plural}/status`, kind: names.kind });
  if (version.scale !== undefined) {
    entries.push({ ...base, name: `${names.plural}/scale`, kind: 'Scale', group: 'autoscaling', version: 'v1' });
  }
  return entries;
}
