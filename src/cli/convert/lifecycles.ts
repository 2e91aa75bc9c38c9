/* eslint-disable max-lines -- a table */
/** When a version of a built-in type became deprecated and went, and what takes its place. */
export interface Lifecycle {
  readonly apiVersion: string;
  readonly kinds: readonly string[];
  readonly deprecated: string;
  /** The first release that does not serve it; undefined where none is planned. */
  readonly removed: string | undefined;
  /** As `GROUP/VERSION@RELEASE`, with another kind behind a space: where to go and since when that is served; the best first. */
  readonly replacements: readonly string[];
}

/** Alpha versions that went before Kubernetes declared life cycles, from its release notes. */
const OLD_ALPHAS: readonly Lifecycle[] = [
  {
    apiVersion: 'auditregistration.k8s.io/v1alpha1',
    kinds: ['AuditSink'],
    deprecated: '1.18',
    removed: '1.19',
    replacements: [],
  },
  {
    apiVersion: 'batch/v2alpha1',
    kinds: ['CronJob'],
    deprecated: '1.8',
    removed: '1.21',
    replacements: ['batch/v1@1.21', 'batch/v1beta1@1.8'],
  },
  {
    apiVersion: 'networking.k8s.io/v1alpha1',
    kinds: ['IPAddress', 'ServiceCIDR'],
    deprecated: '1.30',
    removed: '1.31',
    replacements: ['networking.k8s.io/v1@1.33', 'networking.k8s.io/v1beta1@1.31'],
  },
  {
    apiVersion: 'node.k8s.io/v1alpha1',
    kinds: ['RuntimeClass'],
    deprecated: '1.20',
    removed: '1.24',
    replacements: ['node.k8s.io/v1@1.20'],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1alpha1',
    kinds: ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'],
    deprecated: '1.8',
    removed: '1.23',
    replacements: ['rbac.authorization.k8s.io/v1@1.8'],
  },
  {
    apiVersion: 'scheduling.k8s.io/v1alpha1',
    kinds: ['PriorityClass'],
    deprecated: '1.14',
    removed: '1.23',
    replacements: ['scheduling.k8s.io/v1@1.14'],
  },
  {
    apiVersion: 'settings.k8s.io/v1alpha1',
    kinds: ['PodPreset'],
    deprecated: '1.19',
    removed: '1.20',
    replacements: [],
  },
];

/** From the life cycles that Kubernetes declares for its own types. */
const LIFECYCLES: readonly Lifecycle[] = [
  ...OLD_ALPHAS,
  {
    apiVersion: 'admission.k8s.io/v1beta1',
    kinds: ['AdmissionReview'],
    deprecated: '1.19',
    removed: '1.22',
    replacements: ['admission.k8s.io/v1@1.16'],
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1alpha1',
    kinds: ['MutatingAdmissionPolicy', 'MutatingAdmissionPolicyBinding'],
    deprecated: '1.35',
    removed: '1.38',
    replacements: ['admissionregistration.k8s.io/v1@1.36'],
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1alpha1',
    kinds: ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'],
    deprecated: '1.29',
    removed: '1.32',
    replacements: ['admissionregistration.k8s.io/v1@1.30'],
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1beta1',
    kinds: ['MutatingAdmissionPolicy', 'MutatingAdmissionPolicyBinding'],
    deprecated: '1.37',
    removed: '1.40',
    replacements: ['admissionregistration.k8s.io/v1@1.36'],
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1beta1',
    kinds: ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'],
    deprecated: '1.16',
    removed: '1.22',
    replacements: ['admissionregistration.k8s.io/v1@1.16'],
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1beta1',
    kinds: ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'],
    deprecated: '1.31',
    removed: '1.34',
    replacements: ['admissionregistration.k8s.io/v1@1.30'],
  },
  {
    apiVersion: 'apidiscovery.k8s.io/v2beta1',
    kinds: ['APIGroupDiscovery'],
    deprecated: '1.32',
    removed: '1.35',
    replacements: ['apidiscovery.k8s.io/v2@1.30'],
  },
  {
    apiVersion: 'apiextensions.k8s.io/v1beta1',
    kinds: ['CustomResourceDefinition'],
    deprecated: '1.16',
    removed: '1.22',
    replacements: ['apiextensions.k8s.io/v1@1.16'],
  },
  {
    apiVersion: 'apiregistration.k8s.io/v1beta1',
    kinds: ['APIService'],
    deprecated: '1.19',
    removed: '1.22',
    replacements: ['apiregistration.k8s.io/v1@1.10'],
  },
  {
    apiVersion: 'apps/v1beta1',
    // The table of removals names ReplicaSet, though no release served it in this version.
    kinds: ['ControllerRevision', 'Deployment', 'ReplicaSet', 'StatefulSet'],
    deprecated: '1.8',
    removed: '1.16',
    replacements: ['apps/v1@1.9'],
  },
  { apiVersion: 'apps/v1beta1', kinds: ['DeploymentRollback'], deprecated: '1.8', removed: '1.16', replacements: [] },
  {
    apiVersion: 'apps/v1beta1',
    kinds: ['Scale'],
    deprecated: '1.8',
    removed: '1.16',
    replacements: ['autoscaling/v1@1.2'],
  },
  {
    apiVersion: 'apps/v1beta2',
    kinds: ['ControllerRevision', 'DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet'],
    deprecated: '1.9',
    removed: '1.16',
    replacements: ['apps/v1@1.9'],
  },
  {
    apiVersion: 'apps/v1beta2',
    kinds: ['Scale'],
    deprecated: '1.9',
    removed: '1.16',
    replacements: ['autoscaling/v1@1.2'],
  },
  {
    apiVersion: 'authentication.k8s.io/v1alpha1',
    kinds: ['SelfSubjectReview'],
    deprecated: '1.29',
    removed: '1.32',
    replacements: ['authentication.k8s.io/v1@1.28'],
  },
  {
    apiVersion: 'authentication.k8s.io/v1beta1',
    kinds: ['SelfSubjectReview'],
    deprecated: '1.30',
    removed: '1.33',
    replacements: ['authentication.k8s.io/v1@1.28'],
  },
  {
    apiVersion: 'authentication.k8s.io/v1beta1',
    kinds: ['TokenReview'],
    deprecated: '1.19',
    removed: '1.22',
    replacements: ['authentication.k8s.io/v1@1.6'],
  },
  {
    apiVersion: 'authorization.k8s.io/v1beta1',
    kinds: ['LocalSubjectAccessReview', 'SelfSubjectAccessReview', 'SelfSubjectRulesReview', 'SubjectAccessReview'],
    deprecated: '1.19',
    removed: '1.22',
    replacements: ['authorization.k8s.io/v1@1.6'],
  },
  {
    apiVersion: 'autoscaling/v2beta1',
    kinds: ['HorizontalPodAutoscaler'],
    deprecated: '1.22',
    removed: '1.25',
    replacements: ['autoscaling/v2@1.23', 'autoscaling/v2beta2@1.12'],
  },
  {
    apiVersion: 'autoscaling/v2beta2',
    kinds: ['HorizontalPodAutoscaler'],
    deprecated: '1.23',
    removed: '1.26',
    replacements: ['autoscaling/v2@1.23'],
  },
  {
    apiVersion: 'batch/v1beta1',
    kinds: ['CronJob'],
    deprecated: '1.21',
    removed: '1.25',
    replacements: ['batch/v1@1.21'],
  },
  {
    apiVersion: 'certificates.k8s.io/v1alpha1',
    kinds: ['ClusterTrustBundle'],
    deprecated: '1.34',
    removed: '1.37',
    replacements: ['certificates.k8s.io/v1beta1@1.33'],
  },
  {
    apiVersion: 'certificates.k8s.io/v1beta1',
    kinds: ['CertificateSigningRequest'],
    deprecated: '1.19',
    removed: '1.22',
    replacements: ['certificates.k8s.io/v1@1.19'],
  },
  {
    apiVersion: 'certificates.k8s.io/v1beta1',
    kinds: ['ClusterTrustBundle'],
    deprecated: '1.37',
    removed: '1.40',
    replacements: [],
  },
  {
    apiVersion: 'certificates.k8s.io/v1beta1',
    kinds: ['PodCertificateRequest'],
    deprecated: '1.38',
    removed: '1.41',
    replacements: [],
  },
  {
    apiVersion: 'coordination.k8s.io/v1alpha2',
    kinds: ['LeaseCandidate'],
    deprecated: '1.35',
    removed: '1.38',
    replacements: ['coordination.k8s.io/v1beta1@1.33'],
  },
  {
    apiVersion: 'coordination.k8s.io/v1beta1',
    kinds: ['Lease'],
    deprecated: '1.19',
    removed: '1.22',
    replacements: ['coordination.k8s.io/v1@1.14'],
  },
  {
    apiVersion: 'coordination.k8s.io/v1beta1',
    kinds: ['LeaseCandidate'],
    deprecated: '1.36',
    removed: '1.39',
    replacements: [],
  },
  {
    apiVersion: 'discovery.k8s.io/v1beta1',
    kinds: ['EndpointSlice'],
    deprecated: '1.21',
    removed: '1.25',
    replacements: ['discovery.k8s.io/v1@1.21'],
  },
  {
    apiVersion: 'events.k8s.io/v1beta1',
    kinds: ['Event'],
    deprecated: '1.22',
    removed: '1.25',
    replacements: ['events.k8s.io/v1@1.19'],
  },
  {
    apiVersion: 'extensions/v1beta1',
    kinds: ['DaemonSet', 'Deployment', 'ReplicaSet'],
    deprecated: '1.8',
    removed: '1.16',
    replacements: ['apps/v1@1.9'],
  },
  {
    apiVersion: 'extensions/v1beta1',
    kinds: ['DeploymentRollback'],
    deprecated: '1.8',
    removed: '1.16',
    replacements: [],
  },
  {
    apiVersion: 'extensions/v1beta1',
    kinds: ['Ingress'],
    deprecated: '1.14',
    removed: '1.22',
    replacements: ['networking.k8s.io/v1@1.19'],
  },
  {
    apiVersion: 'extensions/v1beta1',
    kinds: ['NetworkPolicy'],
    deprecated: '1.9',
    removed: '1.16',
    replacements: ['networking.k8s.io/v1@1.8'],
  },
  {
    apiVersion: 'extensions/v1beta1',
    kinds: ['Scale'],
    deprecated: '1.2',
    removed: '1.16',
    replacements: ['autoscaling/v1@1.2'],
  },
  {
    apiVersion: 'extensions/v1beta1',
    kinds: ['PodSecurityPolicy'],
    deprecated: '1.11',
    removed: '1.16',
    replacements: ['policy/v1beta1@1.10'],
  },
  {
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1beta1',
    kinds: ['FlowSchema', 'PriorityLevelConfiguration'],
    deprecated: '1.23',
    removed: '1.26',
    replacements: [
      'flowcontrol.apiserver.k8s.io/v1@1.29',
      'flowcontrol.apiserver.k8s.io/v1beta3@1.26',
      'flowcontrol.apiserver.k8s.io/v1beta2@1.23',
    ],
  },
  {
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1beta2',
    kinds: ['FlowSchema', 'PriorityLevelConfiguration'],
    deprecated: '1.26',
    removed: '1.29',
    replacements: ['flowcontrol.apiserver.k8s.io/v1@1.29', 'flowcontrol.apiserver.k8s.io/v1beta3@1.26'],
  },
  {
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1beta3',
    kinds: ['FlowSchema', 'PriorityLevelConfiguration'],
    deprecated: '1.29',
    removed: '1.32',
    replacements: ['flowcontrol.apiserver.k8s.io/v1@1.29'],
  },
  {
    apiVersion: 'networking.k8s.io/v1beta1',
    kinds: ['IPAddress', 'ServiceCIDR'],
    deprecated: '1.34',
    removed: '1.37',
    replacements: ['networking.k8s.io/v1@1.33'],
  },
  {
    apiVersion: 'networking.k8s.io/v1beta1',
    kinds: ['Ingress', 'IngressClass'],
    deprecated: '1.19',
    removed: '1.22',
    replacements: ['networking.k8s.io/v1@1.19'],
  },
  {
    apiVersion: 'node.k8s.io/v1beta1',
    kinds: ['RuntimeClass'],
    deprecated: '1.22',
    removed: '1.25',
    replacements: ['node.k8s.io/v1@1.20'],
  },
  {
    apiVersion: 'policy/v1beta1',
    kinds: ['Eviction'],
    deprecated: '1.22',
    removed: '1.25',
    replacements: ['policy/v1@1.22'],
  },
  {
    apiVersion: 'policy/v1beta1',
    kinds: ['PodDisruptionBudget'],
    deprecated: '1.21',
    removed: '1.25',
    replacements: ['policy/v1@1.21'],
  },
  { apiVersion: 'policy/v1beta1', kinds: ['PodSecurityPolicy'], deprecated: '1.21', removed: '1.25', replacements: [] },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1beta1',
    kinds: ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'],
    deprecated: '1.17',
    removed: '1.22',
    replacements: ['rbac.authorization.k8s.io/v1@1.8'],
  },
  {
    apiVersion: 'resource.k8s.io/v1alpha3',
    kinds: ['DeviceTaintRule'],
    deprecated: '1.36',
    removed: '1.39',
    replacements: ['resource.k8s.io/v1beta2@1.36'],
  },
  {
    apiVersion: 'resource.k8s.io/v1alpha3',
    kinds: ['ResourcePoolStatusRequest'],
    deprecated: '1.39',
    removed: '1.42',
    replacements: [],
  },
  {
    apiVersion: 'resource.k8s.io/v1beta1',
    kinds: ['DeviceClass', 'ResourceClaim', 'ResourceClaimTemplate', 'ResourceSlice'],
    deprecated: '1.35',
    removed: '1.38',
    replacements: ['resource.k8s.io/v1@1.34'],
  },
  {
    apiVersion: 'resource.k8s.io/v1beta2',
    kinds: ['DeviceClass', 'ResourceClaim', 'ResourceClaimTemplate', 'ResourceSlice'],
    deprecated: '1.36',
    removed: '1.39',
    replacements: ['resource.k8s.io/v1@1.34'],
  },
  {
    apiVersion: 'resource.k8s.io/v1beta2',
    kinds: ['DeviceTaintRule'],
    deprecated: '1.39',
    removed: '1.42',
    replacements: [],
  },
  {
    apiVersion: 'scheduling.k8s.io/v1beta1',
    kinds: ['PriorityClass'],
    deprecated: '1.14',
    removed: '1.22',
    replacements: ['scheduling.k8s.io/v1@1.14'],
  },
  {
    apiVersion: 'storage.k8s.io/v1alpha1',
    kinds: ['CSIStorageCapacity'],
    deprecated: '1.21',
    removed: '1.24',
    replacements: ['storage.k8s.io/v1@1.24'],
  },
  {
    apiVersion: 'storage.k8s.io/v1alpha1',
    kinds: ['VolumeAttachment'],
    deprecated: '1.21',
    removed: '1.24',
    replacements: ['storage.k8s.io/v1@1.13'],
  },
  {
    apiVersion: 'storage.k8s.io/v1alpha1',
    kinds: ['VolumeAttributesClass'],
    deprecated: '1.32',
    removed: '1.35',
    replacements: ['storage.k8s.io/v1@1.34'],
  },
  {
    apiVersion: 'storage.k8s.io/v1beta1',
    kinds: ['CSIDriver'],
    deprecated: '1.19',
    removed: '1.22',
    replacements: ['storage.k8s.io/v1@1.19'],
  },
  {
    apiVersion: 'storage.k8s.io/v1beta1',
    kinds: ['CSINode'],
    deprecated: '1.17',
    removed: '1.22',
    replacements: ['storage.k8s.io/v1@1.17'],
  },
  {
    apiVersion: 'storage.k8s.io/v1beta1',
    kinds: ['CSIStorageCapacity'],
    deprecated: '1.24',
    removed: '1.27',
    replacements: ['storage.k8s.io/v1@1.24'],
  },
  {
    apiVersion: 'storage.k8s.io/v1beta1',
    kinds: ['StorageClass'],
    deprecated: '1.19',
    removed: '1.22',
    replacements: ['storage.k8s.io/v1@1.6'],
  },
  {
    apiVersion: 'storage.k8s.io/v1beta1',
    kinds: ['VolumeAttachment'],
    deprecated: '1.19',
    removed: '1.22',
    replacements: ['storage.k8s.io/v1@1.13'],
  },
  {
    apiVersion: 'storage.k8s.io/v1beta1',
    kinds: ['VolumeAttributesClass'],
    deprecated: '1.34',
    removed: '1.37',
    replacements: ['storage.k8s.io/v1@1.34'],
  },
  {
    apiVersion: 'storagemigration.k8s.io/v1beta1',
    kinds: ['StorageVersionMigration'],
    deprecated: '1.38',
    removed: '1.41',
    replacements: [],
  },
  {
    apiVersion: 'v1',
    kinds: ['Endpoints'],
    deprecated: '1.33',
    removed: undefined,
    replacements: ['discovery.k8s.io/v1@1.21 EndpointSlice'],
  },
];

const byType = new Map(
  LIFECYCLES.flatMap((row) => row.kinds.map((kind) => [`${row.apiVersion} ${kind}`, row] as const)),
);

export const lifecycleOf = (apiVersion: string, kind: string): Lifecycle | undefined =>
  byType.get(`${apiVersion} ${kind}`);

/** The minor of a release of Kubernetes, such as `1.32` or `v1.32.4`; undefined where the text is none. */
export function minorOf(release: string): number | undefined {
  const match = /^v?1\.(\d{1,3})(?:\.\d+)?$/.exec(release);
  return match === null ? undefined : Number(match[1]);
}

export interface Replacement {
  readonly apiVersion: string;
  readonly kind: string;
  readonly since: string;
}

export function replacementsOf(row: Lifecycle, kind: string): readonly Replacement[] {
  return row.replacements.map((text) => {
    const [, apiVersion = '', since = '', other] = /^(.+)@(\S+)(?: (.+))?$/.exec(text) ?? [];
    return { apiVersion, since, kind: other ?? kind };
  });
}
