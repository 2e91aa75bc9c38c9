import type { Container, Pod, PodCondition, PodSpec, PodStatus } from '../../../../apimachinery/generated/core.js';
import { deepCopy } from '../../../../apimachinery/json/json.js';
import { formatTime } from '../../../../apimachinery/meta/meta.js';
import { isDns1123Label } from '../../../../apimachinery/validation/names.js';
import type { RequestContext } from '../../../../request/context.js';
import type { DeletionStrategy, Strategy } from '../../../rest/interfaces.js';
import { emptyListIsNull, ensureObject, keepField, numberOf } from '../../shared/fields.js';
import { validateCoreMetaUpdate } from '../../shared/meta.js';
import { resets } from '../../shared/resource-type.js';
import { appArmorAnnotationsToFields } from './validation/annotations.js';
import { defaultPodResources, qosClass } from './pod-resources.js';
import { fillSelectors } from './scheduling.js';
import { podStatusErrors } from './validation/status-validation.js';
import { validatePod, validatePodUpdate } from './validation/validation.js';
import { podWarnings } from './warnings.js';
import { CONTAINER_LISTS, STATUS_LISTS } from './fields.js';

const HOSTNAME_WARNING =
  "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: ";

function nameWarnings(pod: Pod): string[] {
  const texts = isDns1123Label(pod.metadata.name ?? '');
  return texts.length === 0 ? [] : [`${HOSTNAME_WARNING}[${texts.join(' ')}]`];
}

/** Returns the condition of a pod that scheduling gates keep from being scheduled. */
const gated = ({ receivedAt }: RequestContext): PodCondition => ({
  type: 'PodScheduled',
  status: 'False',
  lastProbeTime: null,
  lastTransitionTime: formatTime(receivedAt),
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
});

function emptySourcesAreNull(pod: Pod): void {
  for (const volume of pod.spec?.volumes ?? []) {
    const projected = volume.projected;
    if (projected !== undefined) emptyListIsNull(projected, 'sources');
  }
}

/** Drops the fields of features that are off by default in Kubernetes. */
function dropDisabled(spec: PodSpec): void {
  delete spec.schedulingGroup;
  for (const container of CONTAINER_LISTS.flatMap((list): Container[] => spec[list] ?? [])) {
    const lifecycle = container.lifecycle;
    if (lifecycle?.stopSignal === undefined) continue;
    delete lifecycle.stopSignal;
    if (Object.keys(lifecycle).length === 0) delete container.lifecycle;
  }
}

/** Drops the fields of such features in a pod's status. */
function dropDisabledStatus(status: PodStatus): void {
  delete status.nodeAllocatableResourceClaimStatuses;
  for (const one of STATUS_LISTS.flatMap((list) => status[list] ?? [])) {
    for (const mount of one.volumeMounts ?? []) delete mount.volumeStatus;
  }
}

export const podStrategy: Strategy<Pod> = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  resetFields: resets(['status']),
  hasGeneration: true,
  prepareForCreate: (context, pod) => {
    pod.metadata.generation = 1;
    const spec = ensureObject(pod, 'spec');
    // After admission, which may add containers.
    defaultPodResources(spec);
    const status: PodStatus = { phase: 'Pending', qosClass: qosClass(pod) };
    pod.status = status;
    if ((spec.schedulingGates ?? []).length > 0) status.conditions = [gated(context)];
    dropDisabled(spec);
    fillSelectors(spec, pod.metadata.labels ?? {});
    emptySourcesAreNull(pod);
    appArmorAnnotationsToFields(pod, (text) => context.warn(text));
  },
  prepareForUpdate: (_context, pod, old) => {
    keepField('status', pod, old);
    // Clients that do not know the resources of a pod drop them.
    const resources = old.spec?.resources;
    const spec = ensureObject(pod, 'spec');
    if (resources !== undefined && spec.resources === undefined) spec.resources = deepCopy(resources);
    emptySourcesAreNull(pod);
  },
  validateCreate: (_context, pod) => validatePod(pod),
  validateUpdate: (_context, pod, old) => validatePodUpdate(pod, old),
  warningsOnCreate: (_context, pod) => [...nameWarnings(pod), ...podWarnings(pod)],
};

/**
 * Keeps the observed generations of the status and its conditions when they are written by a client that does not know them.
 * Conditions of the same type are matched in order.
 */
function keepGenerations(status: PodStatus, old: PodStatus): void {
  keepGeneration(status, old);
  const known = new Map<string, PodCondition[]>();
  for (const condition of old.conditions ?? []) {
    const type = condition.type ?? '';
    known.set(type, [...(known.get(type) ?? []), condition]);
  }
  for (const condition of status.conditions ?? []) {
    const before = known.get(condition.type ?? '')?.shift();
    if (before !== undefined) keepGeneration(condition, before);
  }
}

function keepGeneration(part: PodStatus | PodCondition, old: PodStatus | PodCondition): void {
  const before = numberOf(old.observedGeneration);
  if (numberOf(part.observedGeneration) === 0 && before !== 0) part.observedGeneration = before;
}

export const podStatusStrategy: Strategy<Pod> = {
  ...podStrategy,
  resetFields: resets(['spec'], ['metadata', 'deletionTimestamp'], ['metadata', 'ownerReferences']),
  prepareForUpdate: (_context, pod, old) => {
    keepField('spec', pod, old);
    keepField('deletionTimestamp', pod.metadata, old.metadata);
    keepField('ownerReferences', pod.metadata, old.metadata);
    const status = ensureObject(pod, 'status');
    dropDisabledStatus(status);
    const before: PodStatus = old.status ?? {};
    const quality = before.qosClass ?? '';
    if (!status.qosClass && quality !== '') status.qosClass = quality;
    keepGenerations(status, before);
  },
  validateUpdate: (_context, pod, old) => [
    ...validateCoreMetaUpdate(pod.metadata, old.metadata),
    ...podStatusErrors(pod, old),
  ],
};

export const podDeletion: DeletionStrategy<Pod> = {
  gracePeriodSeconds: (pod, asked) => {
    const spec = pod.spec;
    const phase = pod.status?.phase ?? '';
    // A pod that runs on no node needs no time to stop.
    if (!spec?.nodeName || phase === 'Failed' || phase === 'Succeeded') return 0;
    const period = asked ?? numberOf(spec.terminationGracePeriodSeconds);
    return period < 0 ? 1 : period;
  },
};
