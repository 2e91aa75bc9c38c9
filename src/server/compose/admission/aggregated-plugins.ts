import type { AdmissionPlugin } from '../../../admission/interfaces.js';
import { namespaceLifecycle } from '../../../admission/plugin/namespace-lifecycle.js';
import { namespaceExists } from '../../../admission/plugin/namespaces.js';
import type { NamespaceSource } from '../../../admission/sources.js';
import { type DynamicPluginDependencies, dynamicPlugins, enabled } from './dynamic-plugins.js';
import type { Options } from '../../options/options.js';

export interface AggregatedPluginDependencies extends Omit<DynamicPluginDependencies, 'sources'> {
  readonly options: Options;
  readonly namespaces: NamespaceSource;
  readonly quotas: AdmissionPlugin;
  /** The configurations of the cluster; undefined: they are not to be followed. */
  readonly sources: DynamicPluginDependencies['sources'] | undefined;
}

/**
 * What admits requests for the types that Annex serves in a cluster, as the cluster's API server would if it did not proxy them: of its
 * plugins those that are about any type.
 */
export function aggregatedPlugins(dependencies: AggregatedPluginDependencies): AdmissionPlugin[] {
  const { namespaces, quotas, sources } = dependencies;
  return enabled(dependencies, {
    NamespaceLifecycle: () => namespaceLifecycle(namespaces),
    NamespaceExists: () => namespaceExists(namespaces),
    ...(sources === undefined ? {} : dynamicPlugins({ ...dependencies, sources })),
    ResourceQuota: () => quotas,
  });
}
