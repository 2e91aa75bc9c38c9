import { isObject, type JsonObject, objectAt, stringAt } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { Attributes } from '../../../storage/cacher/interfaces.js';
import type { NameValidator } from '../../../apimachinery/validation/names.js';
import type {
  ApiLifecycle,
  DeletionStrategy,
  ResourceType,
  StoredAs,
  Strategy,
  TableConvertor,
  Twin,
} from '../../rest/interfaces.js';

/** The definition of a built-in type, from which everything else is derived. */
export interface BuiltinDefinition {
  readonly group: string;
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly namespaced: boolean;
  /** Defaults to the resource: kube-apiserver adds the group for only a few of its own types. */
  readonly registryPath?: string;
  readonly uncached?: boolean;
  readonly isNamespace?: boolean;
  readonly validateName: NameValidator;
  readonly strategy: Strategy;
  readonly subresources?: Readonly<Record<string, Strategy>>;
  readonly table: TableConvertor;
  /** The fields that selectors may use besides name and namespace, and their values. */
  readonly selectableFields?: readonly string[];
  readonly fields?: (object: JsonObject) => Record<string, string>;
  readonly deletion?: DeletionStrategy;
  readonly applyDefaults?: (object: KubeObject) => void;
  readonly storedAs?: StoredAs;
  readonly twin?: Twin;
  readonly returnsDeletedObject?: boolean;
  readonly verbs?: readonly string[];
  /** Set if the releases that can be emulated differ. */
  readonly lifecycle?: ApiLifecycle;
  readonly announcedStorageVersion?: string;
  /** Versions besides v1 whose objects differ only in apiVersion, newest first. */
  readonly otherVersions?: Readonly<Record<string, ApiLifecycle>>;
}

const NO_LABELS = undefined;

function labelsOf(metadata: JsonObject | undefined): Readonly<Record<string, string>> | undefined {
  const labels = metadata?.['labels'];
  return isObject(labels) ? (labels as Record<string, string>) : NO_LABELS;
}

/** Returns a built-in type in version v1, which is also the storage version, and in other versions if there are any. */
export function builtinType(definition: BuiltinDefinition): ResourceType {
  const { namespaced, fields, table, selectableFields = [], otherVersions = {} } = definition;
  const versions = [['v1', definition.lifecycle] as const, ...Object.entries(otherVersions)];
  return {
    group: definition.group,
    resource: definition.resource,
    singular: definition.singular,
    kind: definition.kind,
    listKind: `${definition.kind}List`,
    shortNames: definition.shortNames ?? [],
    categories: definition.categories ?? [],
    namespaced,
    versions: versions.map(([name, lifecycle]) => ({
      name,
      served: true,
      deprecated: false,
      lifecycle,
      table,
      selectableFields,
    })),
    storageVersion: 'v1',
    registryPath: definition.registryPath ?? definition.resource,
    uncached: definition.uncached,
    announcedStorageVersion: definition.announcedStorageVersion,
    custom: false,
    attributes: (object): Attributes => {
      const metadata = objectAt(object, 'metadata');
      const selectable: Record<string, string> = fields === undefined ? {} : fields(object);
      selectable['metadata.name'] = stringAt(metadata, 'name') ?? '';
      if (namespaced) selectable['metadata.namespace'] = stringAt(metadata, 'namespace') ?? '';
      return { labels: labelsOf(metadata), fields: selectable };
    },
    validateName: definition.validateName,
    strategy: definition.strategy,
    subresources: definition.subresources ?? {},
    deletion: definition.deletion ?? {},
    isNamespace: definition.isNamespace,
    ...(definition.applyDefaults === undefined ? {} : { applyDefaults: definition.applyDefaults }),
    storedAs: definition.storedAs,
    twin: definition.twin,
    returnsDeletedObject: definition.returnsDeletedObject,
    verbs: definition.verbs,
  };
}

/** Returns the fields that a strategy resets, in the form for managed fields. */
export const resets = (
  ...paths: readonly (readonly string[])[]
): Readonly<Record<string, readonly (readonly string[])[]>> => ({
  '*': paths,
});

export const noop = (): void => undefined;
