import type { AdmissionPlugin } from '../../../admission/interfaces.js';
import type { ObjectReader } from '../../../admission/object-reader.js';
import { alwaysAdmit, alwaysDeny } from '../../../admission/plugin/always.js';
import { certificateAdmission } from '../../../admission/plugin/certificates.js';
import { persistentVolumeClaimResize } from '../../../admission/plugin/claim-resize.js';
import { namespaceLifecycle } from '../../../admission/plugin/namespace-lifecycle.js';
import { namespaceAutoProvision, namespaceExists } from '../../../admission/plugin/namespaces.js';
import { nodeRestriction } from '../../../admission/plugin/node-restriction/node-restriction.js';
import { storageObjectInUseProtection, taintNodesByCondition } from '../../../admission/plugin/nodes-and-volumes.js';
import { podTopologyLabels } from '../../../admission/plugin/pod-topology.js';
import { defaultTolerationSeconds, podPriority, runtimeClass } from '../../../admission/plugin/pods.js';
import { type QuotaObjects, ResourceQuotaAdmission } from '../../../admission/plugin/resource-quota/resource-quota.js';
import { serviceAccountAdmission } from '../../../admission/plugin/service-account/service-account.js';
import { denyServiceExternalIPs } from '../../../admission/plugin/services.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { decodeStored } from '../../../storage/detached-object.js';
import type { ResourceStore } from '../../../registry/generic/store/resource-store.js';
import { generateName } from '../../../registry/generic/system-fields.js';
import type { LoopbackClients } from '../../../registry/rest/loopback-client.js';
import { enabledControllers } from '../../options/controller-names.js';
import {
  type DynamicPluginDependencies,
  dynamicPlugins,
  constructEnabledPlugins,
  type PluginConstructors,
} from './dynamic-plugins.js';
import type { Options } from '../../options/options.js';

/** The dependencies of the plugins of standalone mode. */
export interface AdmissionPluginDependencies extends DynamicPluginDependencies {
  readonly options: Options;
  /** The stores by the storage names of their types. */
  readonly stores: ReadonlyMap<string, ResourceStore>;
  /** The server's own clients, whose writes pass the same plugins. Must not be used before the chain is built. */
  readonly clients: () => LoopbackClients;
}

/** Returns the plugins that the flags enable, in kube-apiserver's order. THE PLACE where standalone mode's plugins are listed. */
export function standalonePlugins(dependencies: AdmissionPluginDependencies): AdmissionPlugin[] {
  return constructEnabledPlugins(dependencies, pluginConstructors(dependencies));
}

function pluginConstructors(dependencies: AdmissionPluginDependencies): PluginConstructors {
  const { authorizer, clients, sources, stores } = dependencies;
  const { namespaces } = sources;
  const reader = (type: string): ObjectReader => objectReader(stores.get(type));
  const provision = (name: string): Promise<KubeObject> =>
    clients()
      .for({ group: '', resource: 'namespaces' })
      .create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const serviceAccounts = (): AdmissionPlugin | undefined =>
    runsServiceAccountPlugin(dependencies)
      ? serviceAccountAdmission({ accounts: reader('serviceaccounts'), clock: dependencies.clock, generateName })
      : undefined;
  const certificates = certificateAdmission(authorizer);
  const certificatePlugin = (name: string): PluginConstructors[string] => {
    return () => certificates.find((plugin) => plugin.name === name);
  };
  return {
    AlwaysAdmit: alwaysAdmit,
    NamespaceAutoProvision: () => namespaceAutoProvision(namespaces, provision),
    NamespaceLifecycle: () => namespaceLifecycle(sources.namespaces),
    NamespaceExists: () => namespaceExists(namespaces),
    ServiceAccount: serviceAccounts,
    NodeRestriction: () =>
      nodeRestriction({
        pods: reader('pods'),
        nodes: reader('nodes'),
        claims: reader('persistentvolumeclaims'),
        volumes: reader('persistentvolumes'),
        authorizer,
      }),
    TaintNodesByCondition: taintNodesByCondition,
    Priority: podPriority,
    DefaultTolerationSeconds: defaultTolerationSeconds,
    StorageObjectInUseProtection: storageObjectInUseProtection,
    PersistentVolumeClaimResize: persistentVolumeClaimResize,
    RuntimeClass: runtimeClass,
    CertificateApproval: certificatePlugin('CertificateApproval'),
    CertificateSigning: certificatePlugin('CertificateSigning'),
    CertificateSubjectRestriction: certificatePlugin('CertificateSubjectRestriction'),
    DenyServiceExternalIPs: denyServiceExternalIPs,
    PodTopologyLabels: () => podTopologyLabels(reader('nodes')),
    ...dynamicPlugins(dependencies),
    ResourceQuota: () => new ResourceQuotaAdmission(quotaObjects(dependencies), dependencies.clock),
    AlwaysDeny: alwaysDeny,
  };
}

/**
 * Reports whether the ServiceAccount plugin runs. Without the controller that creates the default account of every namespace no
 * pod could be created, so then the plugin runs only if a flag names it.
 */
function runsServiceAccountPlugin({ options, logger }: AdmissionPluginDependencies): boolean {
  if (options.enableAdmissionPlugins.includes('ServiceAccount')) return true;
  if (enabledControllers(options.controllers).has('serviceaccount-controller')) return true;
  logger.info(
    'the ServiceAccount admission plugin is disabled because serviceaccount-controller is; enable it with --enable-admission-plugins=ServiceAccount',
  );
  return false;
}

function quotaObjects({ clients, stores }: AdmissionPluginDependencies): QuotaObjects {
  const type = { group: '', resource: 'resourcequotas' };
  const cache = stores.get('resourcequotas')?.cache;
  return {
    cached: (namespace) =>
      // Most servers have no quotas at all.
      cache === undefined || cache.size() === 0
        ? []
        : Array.from(cache.peekAll(`${namespace}/`), (quota) => quota.decode() as KubeObject),
    live: (namespace, name) => clients().for(type).get(namespace, name),
    updateStatus: (quota) => clients().for(type).updateStatus(quota),
  };
}

function objectReader(store: ResourceStore | undefined): ObjectReader {
  return {
    cached: (namespace, name) => store?.cache.peek(store.key(namespace, name))?.decode() as KubeObject | undefined,
    live: async (namespace, name) => {
      const stored = await store?.getLatest(store.key(namespace, name));
      return stored === undefined ? undefined : (decodeStored(stored) as KubeObject);
    },
  };
}
