import type { AdmissionPlugin } from '../../../admission/interfaces.js';
import { namespaceLifecycle } from '../../../admission/plugin/namespace-lifecycle.js';
import { namespaceExists } from '../../../admission/plugin/namespaces.js';
import type { NamespaceSource } from '../../../admission/sources.js';
import { type DynamicPluginDependencies, dynamicPlugins, constructEnabledPlugins } from './dynamic-plugins.js';
import type { Options } from '../../options/options.js';

export interface AggregatedPluginDependencies extends Omit<DynamicPluginDependencies, 'sources'> {
  readonly options: Options;
  readonly namespaces: NamespaceSource;
  readonly quotas: AdmissionPlugin;
  /** The webhooks and policies of the cluster; undefined if they are not followed. */
  readonly sources: DynamicPluginDependencies['sources'] | undefined;
}

/**
 * Returns the plugins that admit requests for the types that Annex serves in a cluster. They are the plugins of kube-apiserver
 * that apply to any type, which it would run itself if it did not proxy the requests.
 */
export function aggregatedPlugins(dependencies: AggregatedPluginDependencies): AdmissionPlugin[] {
  const { namespaces, quotas, sources } = dependencies;
  return constructEnabledPlugins(dependencies, {
    NamespaceLifecycle: () => namespaceLifecycle(namespaces),
    NamespaceExists: () => namespaceExists(namespaces),
    ...(sources === undefined ? {} : dynamicPlugins({ ...dependencies, sources })),
    ResourceQuota: () => quotas,
  });
}
