/** The lists of containers in a pod's specification, in the order of kube-apiserver. */
export const CONTAINER_LISTS = ['initContainers', 'containers', 'ephemeralContainers'];

/** The lists of a pod's status that say how its containers do. */
export const STATUS_LISTS = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'];

/** What an affinity demands, and what it would rather have. */
export const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
export const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';

/** When an image is fetched. */
export const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];

/** The annotation of a pod that a kubelet was given in a file, and that only stands for it. */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';
