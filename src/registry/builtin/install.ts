import { formatGroupVersion } from '../../apimachinery/meta/meta.js';
import { requireSchema } from '../../apimachinery/scheme/builtin-schema.js';
import { FieldManager } from '../../managedfields/field-manager.js';
import type { ResourceType } from '../rest/interfaces.js';
import { builtinDecoder, serveBuiltin } from '../generic/store/builtin-served.js';
import { createOnlyStorage } from '../generic/unstored.js';
import { defaultTable } from '../generic/columns.js';
import { computedApi } from '../generic/computed.js';
import { ResourceStore } from '../generic/store/resource-store.js';
import type { ApiRegistry } from '../generic/store/api-registry.js';
import type { ComputedKind } from '../rest/computed.js';
import type { CreateOnlyType } from '../rest/create-only.js';
import type { Cacher } from '../../storage/cacher/interfaces.js';
import type { Backend } from '../../storage/interfaces.js';
import { BuiltinTypes } from '../../structured-merge-diff/schema/builtin-types.js';
import { isObject, type JsonObject } from '../../apimachinery/json/json.js';
import { dataFile, readDataFile } from '../../apimachinery/scheme/data-files.js';
import { readdirSync } from 'node:fs';
import { declaredType, type DeclarativeValidation } from './declarative/declared-type.js';
import { typeAt } from './shared/lifecycle.js';
import type { Clock } from '../../util/clock.js';

export interface BuiltinApisOptions {
  readonly registry: ApiRegistry;
  readonly backend: Backend;
  readonly cacher: Cacher;
  readonly clock: Clock;
  readonly cbor: boolean;
  readonly mergeTypes: BuiltinTypes;
  /** The minor version of Kubernetes 1 whose API versions are served. */
  readonly emulation: number;
  readonly declarative: DeclarativeValidation;
}

/** The groups in the order of discovery. All others come last. */
const GROUP_ORDER = [
  '',
  'apiregistration.k8s.io',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'certificates.k8s.io',
  'rbac.authorization.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'coordination.k8s.io',
];

const priorityOf = (group: string): number => {
  const at = GROUP_ORDER.indexOf(group);
  return at < 0 ? GROUP_ORDER.length : at;
};

/** Loads the published schemas of the built-in types. Each file in data/openapi has the components of a group version. */
export function loadMergeTypes(): BuiltinTypes {
  const documents = readdirSync(dataFile('openapi'))
    .filter((name) => name.endsWith('.json'))
    .map((name): JsonObject => {
      const document = readDataFile('openapi', name);
      return isObject(document) ? document : {};
    });
  return new BuiltinTypes(documents);
}

/** Returns the name of a built-in type in the store: `configmaps`, `roles.rbac.authorization.k8s.io`. */
export const builtinStorageName = (type: ResourceType): string =>
  type.storedAs?.resource ?? (type.group === '' ? type.resource : `${type.resource}.${type.group}`);

/** Installs stored built-in types, each with a watch cache of its own. Returns their stores by storage name. */
export function installBuiltins(
  types: readonly ResourceType[],
  options: BuiltinApisOptions,
): Map<string, ResourceStore> {
  const stores = new Map<string, ResourceStore>();
  // Types that share another type's objects come last: the attributes in the cache are the owner's.
  for (const type of [...types].sort((a, b) => Number(a.storedAs !== undefined) - Number(b.storedAs !== undefined))) {
    const { backend, cacher, clock, registry, cbor, mergeTypes, emulation, declarative } = options;
    const name = builtinStorageName(type);
    const shared = stores.get(name);
    const cache = shared?.cache ?? cacher.add({ resource: name, attributes: (object) => type.attributes(object) });
    const groupResource = { group: type.group, resource: type.resource };
    const store = new ResourceStore(type, name, backend, cache, clock);
    if (shared === undefined) stores.set(name, store);
    const shown = declaredType(typeAt(type, emulation, registry.forwardCompatibilityOf(groupResource)), declarative);
    const apis = serveBuiltin(shown, { store, mergeTypes, clock, cbor });
    registry.install({ groupResource, apis, groupPriority: priorityOf(type.group) });
  }
  return stores;
}

/** Returns the reviews as computed kinds. */
export const reviewKinds = (
  types: readonly CreateOnlyType[],
  mergeTypes: BuiltinTypes,
  clock: Clock,
): readonly ComputedKind[] =>
  types.map((type) => {
    const fieldManager = new FieldManager({
      kind: type,
      subresource: '',
      typeOf: (version) => (version === formatGroupVersion(type) ? mergeTypes.typeOf(type) : undefined),
      emptyObject: requireSchema(type.group, type.version, type.kind).empty(),
      clock,
    });
    const storage = createOnlyStorage(type, { fieldManager, decode: builtinDecoder(type) });
    const { group, version, kind, resource, singular, namespaced } = type;
    return { group, version, kind, resource, singular, namespaced, table: defaultTable, schema: undefined, storage };
  });

export function installComputed(kinds: readonly ComputedKind[], registry: ApiRegistry): void {
  for (const kind of kinds) {
    const groupResource = { group: kind.group, resource: kind.resource };
    registry.install({ groupResource, apis: [computedApi(kind)], groupPriority: priorityOf(kind.group) });
  }
}
