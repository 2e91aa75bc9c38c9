import { type GroupVersionKind, formatGroupVersion, parseGroupVersion } from '../meta/meta.js';
import { builtinSchema, type BuiltinSchema } from './builtin-schema.js';
import { goTypeKeys } from './types.js';

/** Kinds without a schema here that kube-apiserver's decoder knows: kube-apiserver does not serve them, or Annex does not. `*` includes the list. */
const KNOWN: Readonly<Record<string, string>> = {
  'admission.k8s.io/v1': 'AdmissionReview',
  'admission.k8s.io/v1beta1': 'AdmissionReview',
  'admissionregistration.k8s.io/v1alpha1':
    'MutatingAdmissionPolicy* MutatingAdmissionPolicyBinding* ValidatingAdmissionPolicy* ValidatingAdmissionPolicyBinding*',
  'admissionregistration.k8s.io/v1beta1':
    'MutatingAdmissionPolicy* MutatingAdmissionPolicyBinding* MutatingWebhookConfiguration* ValidatingAdmissionPolicy* ValidatingAdmissionPolicyBinding* ValidatingWebhookConfiguration*',
  'apps/v1': 'ControllerRevision* DaemonSet* Deployment* ReplicaSet* StatefulSet*',
  'apps/v1beta1': 'ControllerRevision* Deployment* DeploymentRollback Scale StatefulSet*',
  'apps/v1beta2': 'ControllerRevision* DaemonSet* Deployment* ReplicaSet* Scale StatefulSet*',
  'authentication.k8s.io/v1alpha1': 'SelfSubjectReview',
  'authentication.k8s.io/v1beta1': 'SelfSubjectReview TokenReview',
  'authorization.k8s.io/v1beta1':
    'LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview',
  'autoscaling/v2': 'HorizontalPodAutoscaler*',
  'batch/v1': 'CronJob* Job*',
  'batch/v1beta1': 'CronJob*',
  'certificates.k8s.io/v1alpha1': 'ClusterTrustBundle*',
  'certificates.k8s.io/v1beta1': 'CertificateSigningRequest* ClusterTrustBundle* PodCertificateRequest*',
  'coordination.k8s.io/v1alpha2': 'LeaseCandidate*',
  'coordination.k8s.io/v1beta1': 'Lease* LeaseCandidate*',
  'discovery.k8s.io/v1': 'EndpointSlice*',
  'discovery.k8s.io/v1beta1': 'EndpointSlice*',
  'events.k8s.io/v1beta1': 'Event*',
  'extensions/v1beta1': 'DaemonSet* Deployment* DeploymentRollback Ingress* NetworkPolicy* ReplicaSet* Scale',
  'flowcontrol.apiserver.k8s.io/v1': 'FlowSchema* PriorityLevelConfiguration*',
  'flowcontrol.apiserver.k8s.io/v1beta1': 'FlowSchema* PriorityLevelConfiguration*',
  'flowcontrol.apiserver.k8s.io/v1beta2': 'FlowSchema* PriorityLevelConfiguration*',
  'flowcontrol.apiserver.k8s.io/v1beta3': 'FlowSchema* PriorityLevelConfiguration*',
  'imagepolicy.k8s.io/v1alpha1': 'ImageReview',
  'internal.apiserver.k8s.io/v1alpha1': 'StorageVersion*',
  'networking.k8s.io/v1': 'IPAddress* Ingress* IngressClass* NetworkPolicy* ServiceCIDR*',
  'networking.k8s.io/v1beta1': 'IPAddress* Ingress* IngressClass* ServiceCIDR*',
  'node.k8s.io/v1': 'RuntimeClass*',
  'node.k8s.io/v1alpha1': 'RuntimeClass*',
  'node.k8s.io/v1beta1': 'RuntimeClass*',
  'policy/v1beta1': 'Eviction PodDisruptionBudget*',
  'rbac.authorization.k8s.io/v1alpha1': 'ClusterRole* ClusterRoleBinding* Role* RoleBinding*',
  'rbac.authorization.k8s.io/v1beta1': 'ClusterRole* ClusterRoleBinding* Role* RoleBinding*',
  'resource.k8s.io/v1': 'DeviceClass* ResourceClaim* ResourceClaimTemplate* ResourceSlice*',
  'resource.k8s.io/v1alpha3': 'DeviceTaintRule* ResourcePoolStatusRequest*',
  'resource.k8s.io/v1beta1': 'DeviceClass* ResourceClaim* ResourceClaimTemplate* ResourceSlice*',
  'resource.k8s.io/v1beta2': 'DeviceClass* DeviceTaintRule* ResourceClaim* ResourceClaimTemplate* ResourceSlice*',
  'scheduling.k8s.io/v1': 'PriorityClass*',
  'scheduling.k8s.io/v1alpha2': 'PodGroup* Workload*',
  'scheduling.k8s.io/v1beta1': 'PriorityClass*',
  'storage.k8s.io/v1alpha1': 'CSIStorageCapacity* VolumeAttachment* VolumeAttributesClass*',
  'storage.k8s.io/v1beta1':
    'CSIDriver* CSINode* CSIStorageCapacity* StorageClass* VolumeAttachment* VolumeAttributesClass*',
  'storagemigration.k8s.io/v1beta1': 'StorageVersionMigration*',
};

/** The decoder of definitions knows only its own group. */
const DEFINITIONS = 'apiextensions.k8s.io';
const OF_DEFINITIONS: Readonly<Record<string, string>> = {
  'apiextensions.k8s.io/v1': 'CustomResourceDefinition* ConversionReview',
  'apiextensions.k8s.io/v1beta1': 'CustomResourceDefinition* ConversionReview',
};

/** Groups that no other decoder knows. */
const APART = new Set([DEFINITIONS, 'apiregistration.k8s.io', 'meta.k8s.io']);

const expand = (table: Readonly<Record<string, string>>): ReadonlySet<string> =>
  new Set(
    Object.entries(table).flatMap(([groupVersion, kinds]) =>
      kinds
        .split(' ')
        .flatMap((kind) => (kind.endsWith('*') ? [kind.slice(0, -1), `${kind.slice(0, -1)}List`] : [kind]))
        .map((kind) => `${groupVersion}/${kind}`),
    ),
  );

const known = expand(KNOWN);
const ofDefinitions = expand(OF_DEFINITIONS);

/** Reports whether the decoder of a group's objects knows a kind, whether or not the kind is of that group. */
export function isRegistered(group: string, gvk: GroupVersionKind): boolean {
  const key = `${formatGroupVersion(gvk)}/${gvk.kind}`;
  if (group === DEFINITIONS) return ofDefinitions.has(key);
  return !APART.has(gvk.group) && (known.has(key) || builtinSchema(gvk) !== undefined);
}

/** Reports whether the decoder of a type's objects knows a kind of the same group in any version, and so in the internal one. */
export function isRegisteredInternally(of: GroupVersionKind, kind: string): boolean {
  const table = of.group === DEFINITIONS ? ofDefinitions : known;
  for (const key of table) if (key.startsWith(`${of.group}/`) && key.endsWith(`/${kind}`)) return true;
  return [of.version, 'v1'].some((version) => isRegistered(of.group, { ...of, version, kind }));
}

let groupVersions: ReadonlySet<string> | undefined;

/** Returns the group versions of kube-apiserver's scheme and of Annex, whether they are served or not. */
function registeredGroupVersions(): ReadonlySet<string> {
  groupVersions ??= new Set(
    [...known, ...ofDefinitions, ...goTypeKeys(), 'kubeannex.io/v1alpha1/Adoption'].map((key) =>
      key.replace(/\/[^/]*$/, ''),
    ),
  );
  return groupVersions;
}

export function isRegisteredVersion(group: string, version: string): boolean {
  return registeredGroupVersions().has(formatGroupVersion({ group, version }));
}

export function isRegisteredGroup(group: string): boolean {
  for (const key of registeredGroupVersions()) {
    if (key.startsWith(`${group}/`) || (group === '' && !key.includes('/'))) return true;
  }
  return false;
}

/** Returns the internal group of a kind. Both groups of events have the same events. */
const internalGroup = ({ group, kind }: { readonly group: string; readonly kind: string }): string =>
  group === 'events.k8s.io' && kind === 'Event' ? '' : group;

/**
 * Returns the schema of the same kind in another version, which is read but not accepted in place of the target; undefined if
 * none exists. A version without a schema of its own is read as v1, from which it differs little.
 */
export function schemaOfSibling(
  target: GroupVersionKind,
  groupVersion: string,
  kind: string,
): BuiltinSchema | undefined {
  const gv = parseGroupVersion(groupVersion);
  if (gv === undefined || kind !== target.kind) return undefined;
  const given = { group: gv.group, version: gv.version, kind };
  if (internalGroup(given) !== internalGroup(target) || !isRegistered(target.group, given)) return undefined;
  return builtinSchema(given) ?? builtinSchema({ ...given, version: 'v1' });
}
