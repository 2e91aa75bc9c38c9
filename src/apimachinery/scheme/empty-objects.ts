import type { JsonObject } from '../json/json.js';
import { type GroupKind, formatGroupKind } from '../meta/meta.js';

const lists = (...names: string[]): JsonObject => Object.fromEntries(names.map((name) => [name, null]));
const texts = (...names: string[]): JsonObject => Object.fromEntries(names.map((name) => [name, '']));

const roleRef: JsonObject = texts('apiGroup', 'kind', 'name');
const resourceNames: JsonObject = texts('plural', 'kind');

const definition: JsonObject = {
  spec: { ...texts('group'), names: resourceNames, ...texts('scope'), ...lists('versions') },
  status: { ...lists('conditions'), acceptedNames: resourceNames, ...lists('storedVersions') },
};

/**
 * The members that objects of Kubernetes' built-in kinds always have, even before anything is set, because their Go fields lack
 * omitempty. In the order in which they are printed. The manager that creates an object owns the fields inside these members, but
 * not the members themselves.
 */
const EMPTY: Readonly<Record<string, JsonObject>> = {
  Namespace: { spec: {}, status: {} },
  Node: {
    spec: {},
    status: {
      daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
      nodeInfo: texts(
        'machineID',
        'systemUUID',
        'bootID',
        'kernelVersion',
        'osImage',
        'containerRuntimeVersion',
        'kubeletVersion',
        'kubeProxyVersion',
        'operatingSystem',
        'architecture',
      ),
    },
  },
  Pod: { spec: lists('containers'), status: {} },
  Service: { spec: {}, status: { loadBalancer: {} } },
  PersistentVolume: { spec: {}, status: {} },
  PersistentVolumeClaim: { spec: { resources: {} }, status: {} },
  ResourceQuota: { spec: {}, status: {} },
  Event: {
    involvedObject: {},
    source: {},
    ...lists('firstTimestamp', 'lastTimestamp', 'eventTime'),
    ...texts('reportingComponent', 'reportingInstance'),
  },
  'Event.events.k8s.io': {
    ...lists('eventTime'),
    regarding: {},
    deprecatedSource: {},
    ...lists('deprecatedFirstTimestamp', 'deprecatedLastTimestamp'),
  },
  'Lease.coordination.k8s.io': { spec: {} },
  'CertificateSigningRequest.certificates.k8s.io': {
    spec: { ...lists('request'), ...texts('signerName') },
    status: {},
  },
  'Role.rbac.authorization.k8s.io': lists('rules'),
  'ClusterRole.rbac.authorization.k8s.io': lists('rules'),
  'RoleBinding.rbac.authorization.k8s.io': { roleRef },
  'ClusterRoleBinding.rbac.authorization.k8s.io': { roleRef },
  'CustomResourceDefinition.apiextensions.k8s.io': definition,
  'ResourceDefinition.kubeannex.io': definition,
  'APIService.apiregistration.k8s.io': { spec: { groupPriorityMinimum: 0, versionPriority: 0 }, status: {} },
  'ValidatingAdmissionPolicy.admissionregistration.k8s.io': { spec: {}, status: {} },
  'ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io': { spec: {} },
  'MutatingAdmissionPolicy.admissionregistration.k8s.io': { spec: {} },
  'MutatingAdmissionPolicyBinding.admissionregistration.k8s.io': { spec: {} },
  'Scale.autoscaling': { spec: {}, status: { replicas: 0 } },
};

/** Returns the members of an empty object of a built-in kind, which must never be modified. */
export function emptyObjectOf(kind: GroupKind): JsonObject {
  return EMPTY[formatGroupKind(kind)] ?? {};
}
