import { SHARD_UID } from '../../../apimachinery/selectors/selection-predicate.js';
import { featureGates } from '../../../util/feature-gates.js';
import { type JsonObject, objectAt, textAt } from '../../../apimachinery/json/json.js';
import type { Attributes } from '../../../storage/cacher/interfaces.js';
import type { ApiLifecycle, ResourceType, TableConvertor } from '../../rest/interfaces.js';

type Needed = 'group' | 'resource' | 'kind' | 'namespaced' | 'validateName' | 'strategy';
type Optional =
  | 'shortNames'
  | 'categories'
  | 'registryPath'
  | 'uncached'
  | 'isNamespace'
  | 'subresources'
  | 'deletion'
  | 'applyDefaults'
  | 'storedAs'
  | 'twin'
  | 'returnsDeletedObject'
  | 'verbs';

/**
 * The definition of a built-in type, from which everything else is derived. The registryPath defaults to the resource: kube-apiserver
 * adds the group for only a few of its own types.
 */
export interface BuiltinDefinition extends Pick<ResourceType, Needed>, Partial<Pick<ResourceType, Optional>> {
  readonly table: TableConvertor;
  /** The fields that selectors may use besides name and namespace, and their values. */
  readonly selectableFields?: readonly string[];
  readonly fields?: (object: JsonObject) => Record<string, string>;
  /** Set if the releases that can be emulated differ. */
  readonly lifecycle?: ApiLifecycle;
  /** Versions besides v1 whose objects differ only in apiVersion, newest first. */
  readonly otherVersions?: Readonly<Record<string, ApiLifecycle>>;
}

/** Returns a built-in type in version v1, which is also the storage version, and in other versions if there are any. */
export function builtinType(definition: BuiltinDefinition): ResourceType {
  const { table, selectableFields = [], fields, lifecycle, otherVersions, ...given } = definition;
  return {
    shortNames: [],
    categories: [],
    registryPath: given.resource,
    subresources: {},
    deletion: {},
    ...given,
    singular: given.kind.toLowerCase(),
    listKind: `${given.kind}List`,
    versions: Object.entries({ v1: lifecycle, ...otherVersions }).map(([name, own]) => ({
      name,
      served: true,
      deprecated: false,
      lifecycle: own,
      table,
      selectableFields,
    })),
    storageVersion: 'v1',
    custom: false,
    attributes: (object): Attributes => {
      const metadata = objectAt(object, 'metadata');
      const selectable: Record<string, string> = fields === undefined ? {} : fields(object);
      selectable['metadata.name'] = textAt(metadata, 'name');
      if (given.namespaced) selectable['metadata.namespace'] = textAt(metadata, 'namespace');
      if (featureGates.enabled('ShardedListAndWatch')) selectable[SHARD_UID] = textAt(metadata, 'uid');
      return { labels: objectAt(metadata, 'labels') as Record<string, string> | undefined, fields: selectable };
    },
  };
}

/** Returns the fields that a strategy resets, in the form for managed fields. */
export const resets = (
  ...paths: readonly (readonly string[])[]
): Readonly<Record<string, readonly (readonly string[])[]>> => ({
  '*': paths,
});
