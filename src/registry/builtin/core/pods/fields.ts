/** The lists of containers in a pod's spec, in kube-apiserver's order. */
export const CONTAINER_LISTS = ['initContainers', 'containers', 'ephemeralContainers'] as const;

/** The lists of container statuses in a pod's status. */
export const STATUS_LISTS = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;

/** The required and the preferred terms of an affinity. */
export const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
export const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';

export const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];

/** The annotation of a mirror pod, which represents a static pod that a kubelet read from a file. */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';
