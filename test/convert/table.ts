/** A row of the specification's table "Versions no longer served", one for each version and kind. */
export interface Removal {
  readonly release: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** The replacement and the release that first serves it; undefined if nothing replaces it. */
  readonly replacement: string | undefined;
  readonly since: string | undefined;
}

type Row = readonly [release: string, versions: string, kinds: string, replacement?: string, since?: string];

const APPS = 'apps/v1';
const FLOWCONTROL = 'flowcontrol.apiserver.k8s.io';

const ROWS: readonly Row[] = [
  ['1.32', `${FLOWCONTROL}/v1beta3`, 'FlowSchema PriorityLevelConfiguration', `${FLOWCONTROL}/v1`, '1.29'],
  ['1.29', `${FLOWCONTROL}/v1beta2`, 'FlowSchema PriorityLevelConfiguration', `${FLOWCONTROL}/v1`, '1.29'],
  ['1.27', 'storage.k8s.io/v1beta1', 'CSIStorageCapacity', 'storage.k8s.io/v1', '1.24'],
  ['1.26', `${FLOWCONTROL}/v1beta1`, 'FlowSchema PriorityLevelConfiguration', `${FLOWCONTROL}/v1`, '1.29'],
  ['1.26', 'autoscaling/v2beta2', 'HorizontalPodAutoscaler', 'autoscaling/v2', '1.23'],
  ['1.25', 'batch/v1beta1', 'CronJob', 'batch/v1', '1.21'],
  ['1.25', 'discovery.k8s.io/v1beta1', 'EndpointSlice', 'discovery.k8s.io/v1', '1.21'],
  ['1.25', 'events.k8s.io/v1beta1', 'Event', 'events.k8s.io/v1', '1.19'],
  ['1.25', 'autoscaling/v2beta1', 'HorizontalPodAutoscaler', 'autoscaling/v2', '1.23'],
  ['1.25', 'policy/v1beta1', 'PodDisruptionBudget', 'policy/v1', '1.21'],
  ['1.25', 'policy/v1beta1', 'PodSecurityPolicy'],
  ['1.25', 'node.k8s.io/v1beta1', 'RuntimeClass', 'node.k8s.io/v1', '1.20'],
  [
    '1.22',
    'admissionregistration.k8s.io/v1beta1',
    'MutatingWebhookConfiguration ValidatingWebhookConfiguration',
    'admissionregistration.k8s.io/v1',
    '1.16',
  ],
  ['1.22', 'apiextensions.k8s.io/v1beta1', 'CustomResourceDefinition', 'apiextensions.k8s.io/v1', '1.16'],
  ['1.22', 'apiregistration.k8s.io/v1beta1', 'APIService', 'apiregistration.k8s.io/v1', '1.10'],
  ['1.22', 'authentication.k8s.io/v1beta1', 'TokenReview', 'authentication.k8s.io/v1', '1.6'],
  [
    '1.22',
    'authorization.k8s.io/v1beta1',
    'LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview',
    'authorization.k8s.io/v1',
    '1.6',
  ],
  ['1.22', 'certificates.k8s.io/v1beta1', 'CertificateSigningRequest', 'certificates.k8s.io/v1', '1.19'],
  ['1.22', 'coordination.k8s.io/v1beta1', 'Lease', 'coordination.k8s.io/v1', '1.14'],
  ['1.22', 'extensions/v1beta1 networking.k8s.io/v1beta1', 'Ingress', 'networking.k8s.io/v1', '1.19'],
  ['1.22', 'networking.k8s.io/v1beta1', 'IngressClass', 'networking.k8s.io/v1', '1.19'],
  ['1.22', 'scheduling.k8s.io/v1beta1', 'PriorityClass', 'scheduling.k8s.io/v1', '1.14'],
  [
    '1.22',
    'rbac.authorization.k8s.io/v1beta1',
    'ClusterRole ClusterRoleBinding Role RoleBinding',
    'rbac.authorization.k8s.io/v1',
    '1.8',
  ],
  ['1.22', 'storage.k8s.io/v1beta1', 'CSIDriver', 'storage.k8s.io/v1', '1.19'],
  ['1.22', 'storage.k8s.io/v1beta1', 'CSINode', 'storage.k8s.io/v1', '1.17'],
  ['1.22', 'storage.k8s.io/v1beta1', 'StorageClass', 'storage.k8s.io/v1', '1.6'],
  ['1.22', 'storage.k8s.io/v1beta1', 'VolumeAttachment', 'storage.k8s.io/v1', '1.13'],
  ['1.16', 'extensions/v1beta1', 'NetworkPolicy', 'networking.k8s.io/v1', '1.8'],
  ['1.16', 'extensions/v1beta1 apps/v1beta2', 'DaemonSet', APPS, '1.9'],
  ['1.16', 'extensions/v1beta1 apps/v1beta1 apps/v1beta2', 'Deployment', APPS, '1.9'],
  ['1.16', 'apps/v1beta1 apps/v1beta2', 'StatefulSet', APPS, '1.9'],
  ['1.16', 'extensions/v1beta1 apps/v1beta1 apps/v1beta2', 'ReplicaSet', APPS, '1.9'],
  ['1.16', 'extensions/v1beta1', 'PodSecurityPolicy', 'policy/v1beta1', '1.10'],
];

export const REMOVALS: readonly Removal[] = ROWS.flatMap(([release, versions, kinds, replacement, since]) =>
  versions
    .split(' ')
    .flatMap((apiVersion) => kinds.split(' ').map((kind) => ({ release, apiVersion, kind, replacement, since }))),
);
