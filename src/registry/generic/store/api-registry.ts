import type { GroupResource, GroupVersionKind, GroupVersionResource } from '../../../apimachinery/meta/meta.js';
import { compareVersions } from '../../../apimachinery/meta/version-order.js';
import type { ApiGroup, ApiResourceEntry } from '../../rest/interfaces.js';
import type { ServedScale, ServedVersion } from '../../rest/served.js';
import type { ComputedApi } from '../computed.js';
import { GenericStorage } from '../storage.js';
import type { ResourceStore } from './resource-store.js';
import { RuntimeConfig } from './runtime-config.js';

/** An installed version of a stored type. */
export interface StoredApi {
  readonly kind: 'stored';
  readonly served: ServedVersion;
  readonly store: ResourceStore;
  readonly storage: GenericStorage;
  readonly scale?: ServedScale | undefined;
  /** True while the definition is being deleted: no objects may be created. */
  readonly terminating: boolean;
}

export const storedApi = (served: ServedVersion, store: ResourceStore, terminating = false): StoredApi => ({
  kind: 'stored',
  served,
  store,
  storage: new GenericStorage(served, store),
  terminating,
});

export type InstalledApi = StoredApi | ComputedApi;

/** One type with its served versions, which are installed and removed together. */
export interface ApiBundle {
  readonly groupResource: GroupResource;
  readonly apis: readonly InstalledApi[];
  /** The version that the server's own controllers use if no version is served, or if the stored version of a built-in type is not. */
  readonly hidden?: StoredApi | undefined;
  /** Groups with a lower priority come first; ties are broken by name. */
  readonly groupPriority: number;
}

/** The resources of a version by name. */
type Resources = Map<string, InstalledApi>;

const isBuiltIn = ({ served }: InstalledApi): boolean => !served.type.custom;

/** The installed APIs by group, version and resource. They change as definitions come and go. */
export class ApiRegistry {
  private readonly groups = new Map<string, Map<string, Resources>>();
  private readonly bundles = new Map<string, ApiBundle>();
  private readonly listeners = new Set<() => void>();
  private readonly removals = new Set<(gone: GroupResource) => void>();
  private snapshot: readonly ApiGroup[] | undefined;
  private allInstalled = false;

  constructor(private readonly config = new RuntimeConfig()) {}

  /**
   * Adds a type, or replaces all its installed versions. Versions that the emulated release lacks or the runtime configuration
   * disables are left out.
   */
  install(described: ApiBundle): void {
    const bundle = this.enabledPart(described);
    const key = `${bundle.groupResource.resource}.${bundle.groupResource.group}`;
    this.withdraw(key);
    this.bundles.set(key, bundle);
    for (const api of bundle.apis) {
      const { group, version, resource } = groupVersionResourceOf(api);
      const versions = this.groups.get(group) ?? new Map<string, Resources>();
      this.groups.set(group, versions);
      const resources: Resources = versions.get(version) ?? new Map<string, InstalledApi>();
      versions.set(version, resources);
      resources.set(resource, api);
    }
    this.changed();
  }

  remove(groupResource: GroupResource): void {
    const key = `${groupResource.resource}.${groupResource.group}`;
    if (!this.withdraw(key)) return;
    this.changed();
    for (const listener of this.removals) listener(groupResource);
  }

  /** Reports whether a type is installed, whether served or hidden. */
  has(type: GroupResource): boolean {
    return this.bundleOf(type) !== undefined;
  }

  /** Returns all versions of a type. */
  bundleOf({ group, resource }: GroupResource): ApiBundle | undefined {
    return this.bundles.get(`${resource}.${group}`);
  }

  lookup(group: string, version: string, resource: string): InstalledApi | undefined {
    return this.groups.get(group)?.get(version)?.get(resource);
  }

  /** True once all definitions in the store are served. Until then, a type that is not found may exist. */
  get isComplete(): boolean {
    return this.allInstalled;
  }

  /** Called once, when all definitions that were in the store at startup are served. */
  complete(): void {
    this.allInstalled = true;
  }

  /** Returns the resource with the given kind, or undefined if no served type has it. */
  resourceOfKind({ group, version, kind }: GroupVersionKind): string | undefined {
    for (const [resource, api] of this.groups.get(group)?.get(version) ?? []) {
      if (api.served.gvk.kind === kind) return resource;
    }
    return undefined;
  }

  /** Reports whether a group has built-in versions. */
  isBuiltInGroup(group: string): boolean {
    for (const version of this.groups.get(group)?.keys() ?? []) if (this.isBuiltIn(group, version)) return true;
    return false;
  }

  /** Reports whether a group version is served by built-in types. Unknown paths below custom ones are answered differently. */
  isBuiltIn(group: string, version: string): boolean {
    for (const api of this.groups.get(group)?.get(version)?.values() ?? []) {
      if (isBuiltIn(api)) return true;
    }
    return false;
  }

  isBuiltInType(type: GroupResource): boolean {
    const bundle = this.bundleOf(type);
    const first = bundle?.apis[0] ?? bundle?.hidden;
    return first !== undefined && isBuiltIn(first);
  }

  /** Returns the store of a type that is installed in a version, even if it is hidden from clients. */
  storeOf(type: GroupVersionResource): ResourceStore | undefined {
    const api = this.lookup(type.group, type.version, type.resource) ?? this.hidden(type);
    return api?.kind === 'stored' && api.served.version.name === type.version ? api.store : undefined;
  }

  hidden(type: GroupResource): StoredApi | undefined {
    return this.bundleOf(type)?.hidden;
  }

  *all(): Iterable<InstalledApi> {
    for (const bundle of this.bundles.values()) yield* bundle.apis;
  }

  /** Returns the groups for discovery, by priority and name, with their versions in Kubernetes' order. */
  apiGroups(): readonly ApiGroup[] {
    this.snapshot ??= this.describe();
    return this.snapshot;
  }

  /** Registers a listener for every change. The returned function unregisters it. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Registers a listener for the removal of types. */
  onRemove(listener: (gone: GroupResource) => void): void {
    this.removals.add(listener);
  }

  /** Returns a predicate for the versions of a type that are served although the emulated release lacks them. */
  forwardCompatibilityOf({ group, resource }: GroupResource): (version: string, present: readonly string[]) => boolean {
    return (version, present) => this.config.servesForwardCompatible({ group, version, resource }, present);
  }

  /** Removes the disabled versions. The server's own controllers keep using a type that is hidden from clients. */
  private enabledPart(bundle: ApiBundle): ApiBundle {
    const apis = bundle.apis.filter((api) => {
      const { group, version, resource } = groupVersionResourceOf(api);
      if (api.kind === 'stored' && isBuiltIn(api) && !api.served.version.served) {
        this.config.checkNotEnabled({ group, version, resource }, api.served.version.lifecycle?.introduced);
        return false;
      }
      return this.config.serves(group, version, resource, !isBuiltIn(api));
    });
    if (apis.length === bundle.apis.length) return bundle;
    const stored = bundle.apis.filter((api) => api.kind === 'stored');
    const storage = stored.find(({ served }) => served.version.name === served.type.storageVersion) ?? stored[0];
    const isHidden = apis.length === 0 || (storage !== undefined && isBuiltIn(storage) && !apis.includes(storage));
    return { ...bundle, apis, hidden: bundle.hidden ?? (isHidden ? storage : undefined) };
  }

  private changed(): void {
    this.snapshot = undefined;
    for (const listener of this.listeners) listener();
  }

  private withdraw(key: string): boolean {
    const bundle = this.bundles.get(key);
    if (bundle === undefined) return false;
    this.bundles.delete(key);
    for (const api of bundle.apis) {
      const { group, version, resource } = groupVersionResourceOf(api);
      const versions = this.groups.get(group);
      const resources = versions?.get(version);
      if (resources?.get(resource) === api) resources.delete(resource);
      if (resources?.size === 0) versions?.delete(version);
      if (versions?.size === 0) this.groups.delete(group);
    }
    return true;
  }

  private describe(): readonly ApiGroup[] {
    const priorities = new Map<string, number>();
    for (const bundle of this.bundles.values()) {
      const { group } = bundle.groupResource;
      priorities.set(group, Math.min(priorities.get(group) ?? Infinity, bundle.groupPriority));
    }
    const names = [...this.groups.keys()].sort(
      (a, b) => (priorities.get(a) ?? 0) - (priorities.get(b) ?? 0) || (a < b ? -1 : 1),
    );
    return names.map((name) => {
      const versions = [...(this.groups.get(name) ?? new Map<string, Resources>())].sort(([a], [b]) =>
        compareVersions(a, b),
      );
      return {
        name,
        preferredVersion: versions[0]?.[0] ?? '',
        versions: versions.map(([version, resources]) => ({
          version,
          resources: resourceEntries(resources),
          custom: !this.isBuiltIn(name, version),
        })),
      };
    });
  }
}

const groupVersionResourceOf = ({ served }: InstalledApi): GroupVersionResource => ({
  group: served.gvk.group,
  version: served.gvk.version,
  resource: served.groupResource.resource,
});

/** Returns the resources sorted by name. The subresources of a custom resource keep the order of its definition. */
function resourceEntries(resources: Resources): ApiResourceEntry[] {
  const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
  const described = [...resources].map(([name, { served }]) => ({ name, served }));
  if (described.every(({ served }) => served.type.custom))
    return described.sort(byName).flatMap(({ served }) => served.discovery);
  return described.flatMap(({ served }) => served.discovery).sort(byName);
}
