import type { Row } from '../conversion.js';

const plain = (group: string, kinds: readonly string[], versions = ['v1beta1']): Row => ({
  from: versions.map((version) => `${group}/${version}`),
  kinds,
  to: `${group}/v1`,
});

/** Groups whose kinds kept their fields and defaults: only the version changes. */
export const unchanged: readonly Row[] = [
  plain('apiregistration.k8s.io', ['APIService']),
  plain('authentication.k8s.io', ['TokenReview']),
  plain('authentication.k8s.io', ['SelfSubjectReview'], ['v1alpha1', 'v1beta1']),
  plain('coordination.k8s.io', ['Lease']),
  plain('node.k8s.io', ['RuntimeClass']),
  plain('rbac.authorization.k8s.io', ['Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding']),
  plain('scheduling.k8s.io', ['PriorityClass'], ['v1alpha1', 'v1beta1']),
  plain('storage.k8s.io', [
    'CSIDriver',
    'CSINode',
    'StorageClass',
    'VolumeAttachment',
    'CSIStorageCapacity',
    'VolumeAttributesClass',
  ]),
];
