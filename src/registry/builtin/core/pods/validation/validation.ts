import {
  type FieldError,
  FieldPath,
  forbidden,
  invalid,
  required,
} from '../../../../../apimachinery/meta/field-error.js';
import { canonicalJson, deepEqual, type JsonObject } from '../../../../../apimachinery/json/json.js';
import type { Container, Pod, PodSpec, Toleration } from '../../../../../apimachinery/generated/core.js';
import { nameIsDnsSubdomain } from '../../../../../apimachinery/validation/names.js';
import { withoutEmpty } from '../../../../../apimachinery/scheme/empty-members.js';
import { internalDiff } from '../../../../../apimachinery/scheme/internal-diff.js';
import { itemErrors, MAX_INT32, rangeErrors } from '../../../shared/checks.js';
import { keepField, numberOf } from '../../../shared/fields.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../../../shared/meta.js';
import { annotationChangeErrors, annotationErrors, profileMatchErrors } from './annotations.js';
import { paddedImageErrors } from '../containers/containers.js';
import { nodeAffinityErrors, selectorErrors, withNodeAffinityOf } from './gated-changes.js';
import { tolerationErrors } from '../scheduling.js';
import { podSpecErrors } from './spec-validation.js';

const SPEC = FieldPath.of('spec');

/** Validates a pod by itself. `old` is the pod that it replaces. */
function podErrors(pod: Pod, old: Pod | undefined): FieldError[] {
  const spec: PodSpec = pod.spec ?? {};
  return [
    ...validateCoreMeta(pod.metadata, 'Namespaced', nameIsDnsSubdomain),
    ...annotationErrors(pod, old),
    ...podSpecErrors(pod, old?.spec),
    ...accountErrors(spec),
    ...itemErrors(spec, 'containers', SPEC, paddedImageErrors),
    ...itemErrors(spec, 'initContainers', SPEC, paddedImageErrors),
  ];
}

/** Rejects service account tokens in a pod without a service account. */
function accountErrors(spec: PodSpec): FieldError[] {
  if (spec.serviceAccountName) return [];
  const why = 'must not be specified when serviceAccountName is not set';
  return itemErrors(spec, 'volumes', SPEC, (volume, volumePath) =>
    itemErrors(volume.projected, 'sources', volumePath.child('projected'), (source, path) =>
      source.serviceAccountToken === undefined ? [] : [forbidden(path.child('serviceAccountToken'), why)],
    ),
  );
}

/** Validates a pod on creation. */
export function validatePod(pod: Pod): FieldError[] {
  const spec: PodSpec = pod.spec ?? {};
  const errors = podErrors(pod, undefined);
  if ((spec.ephemeralContainers ?? []).length > 0) {
    errors.push(forbidden(SPEC.child('ephemeralContainers'), 'cannot be set on create'));
  }
  if (spec.nodeName && (spec.schedulingGates ?? []).length > 0) {
    errors.push(forbidden(SPEC.child('nodeName'), 'cannot be set until all schedulingGates have been cleared'));
  }
  return [...errors, ...profileMatchErrors(pod)];
}

const CHANGEABLE =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** Returns the spec with the allowed changes of an update undone, so that only forbidden ones remain. */
function munged(spec: PodSpec, old: PodSpec): PodSpec {
  const taken = ['activeDeadlineSeconds', 'schedulingGates', 'tolerations'];
  const fixed: JsonObject = withoutEmpty(spec, 'initContainers', ...taken);
  for (const list of ['containers', 'initContainers'] as const) {
    if (spec[list] === undefined) continue;
    fixed[list] = (spec[list] ?? []).map((one, i) => ({ ...one, image: old[list]?.[i]?.image }));
  }
  for (const field of taken) fixed[field] = old[field];
  if (numberOf(old.terminationGracePeriodSeconds) < 0 && spec.terminationGracePeriodSeconds === 1) {
    fixed['terminationGracePeriodSeconds'] = old.terminationGracePeriodSeconds;
  }
  return fixed;
}

/** The fields of a v1 spec that belong to the security context in the internal type. */
const HOST_FIELDS = ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace', 'hostUsers'];

function unversioned(spec: PodSpec): JsonObject {
  const context: JsonObject = { ...spec.securityContext };
  for (const field of HOST_FIELDS) context[field] = spec[field];
  return { ...spec, securityContext: context };
}

/** Validates activeDeadlineSeconds. `ends` is true if no other errors are reported. */
function deadlineErrors(spec: PodSpec, old: PodSpec): readonly [errors: FieldError[], ends: boolean] {
  const path = SPEC.child('activeDeadlineSeconds');
  const now = spec.activeDeadlineSeconds;
  const before = old.activeDeadlineSeconds;
  if (typeof now !== 'number' && typeof now !== 'bigint') {
    const lost = before !== undefined;
    return [lost ? [invalid(path, null, 'must not update from a positive integer to nil value')] : [], false];
  }
  const outside = rangeErrors(now, path, 0, MAX_INT32);
  if (outside.length > 0) return [outside, true];
  if (typeof before === 'number' && before < now) {
    return [[invalid(path, now, 'must be less than or equal to previous value')], true];
  }
  return [[], false];
}

/** Allows only additional tolerations, and changes of tolerationSeconds. */
function addedTolerationErrors(spec: PodSpec, old: PodSpec): FieldError[] {
  const rest = ({ tolerationSeconds: _, ...other }: Toleration): string => canonicalJson(other);
  const now = new Set((spec.tolerations ?? []).map(rest));
  const lost = (old.tolerations ?? []).some((one) => !now.has(rest(one)));
  const why = 'existing toleration can not be modified except its tolerationSeconds';
  return lost ? [forbidden(SPEC.child('tolerations'), why)] : itemErrors(spec, 'tolerations', SPEC, tolerationErrors);
}

/** Allows only the removal of scheduling gates. */
function gateErrors(spec: PodSpec, old: PodSpec): FieldError[] {
  const known = new Set((old.schedulingGates ?? []).map((gate) => gate.name ?? ''));
  return itemErrors(spec, 'schedulingGates', SPEC, (gate, path) => {
    const name = gate.name ?? '';
    if (known.has(name)) return [];
    return [forbidden(path.child('name'), `only deletion is allowed, but found new scheduling gate '${name}'`)];
  });
}

const imageErrors = (container: Container, path: FieldPath): FieldError[] =>
  !container.image ? [required(path.child('image'))] : paddedImageErrors(container, path);

export function validatePodUpdate(pod: Pod, old: Pod): FieldError[] {
  const errors = [
    ...validateCoreMetaUpdate(pod.metadata, old.metadata),
    ...podErrors(pod, old),
    ...annotationChangeErrors(pod, old),
  ];
  const spec: PodSpec = pod.spec ?? {};
  const before: PodSpec = old.spec ?? {};
  for (const list of ['containers', 'initContainers'] as const) {
    if ((spec[list] ?? []).length !== (before[list] ?? []).length) {
      errors.push(forbidden(SPEC.child(list), 'pod updates may not add or remove containers'));
      return errors;
    }
    errors.push(...itemErrors(spec, list, SPEC, imageErrors));
  }
  const [found, ends] = deadlineErrors(spec, before);
  errors.push(...found);
  if (ends) return errors;
  errors.push(...addedTolerationErrors(spec, before), ...gateErrors(spec, before));
  const changed = munged(spec, before);
  if ((before.schedulingGates ?? []).length > 0) {
    errors.push(...selectorErrors(changed, before), ...nodeAffinityErrors(changed, before));
    keepField('nodeSelector', changed, before);
    keepField('affinity', changed, { affinity: withNodeAffinityOf(changed, before) });
  }
  const [was, is] = [unversioned(before), unversioned(changed)];
  if (!deepEqual(is, was)) errors.push(forbidden(SPEC, `${CHANGEABLE}\n${internalDiff('PodSpec', was, is)}`));
  return errors;
}
