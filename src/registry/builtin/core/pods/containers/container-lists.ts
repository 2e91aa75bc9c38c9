import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notFound,
  required,
} from '../../../../../apimachinery/meta/field-error.js';
import { isObject } from '../../../../../apimachinery/json/json.js';
import { emptyMembersOf } from '../../../../../apimachinery/scheme/empty-members.js';
import type { Container, EphemeralContainer, PodSpec } from '../../../../../apimachinery/generated/core.js';
import { containerErrors, hostPortErrors, paddedImageErrors, type PodParts, restartErrors } from './containers.js';
import { itemErrors, noDuplicates } from '../../../shared/checks.js';
import { CONTAINER_LISTS } from '../fields.js';
import { lifecycleErrors, probesErrors } from './handlers.js';

/** Returns all containers of a pod with their paths, in kube-apiserver's order. */
export function allContainers(spec: PodSpec, path: FieldPath): (readonly [Container, FieldPath])[] {
  return CONTAINER_LISTS.flatMap((list) =>
    (spec[list] ?? []).map((container: Container, i) => [container, path.child(list).index(i)] as const),
  );
}

const namesOf = (containers: readonly Container[]): string[] => containers.map((one) => one.name ?? '');

export function regularErrors(spec: PodSpec, path: FieldPath, parts: PodParts): FieldError[] {
  const containers = spec.containers ?? [];
  if (containers.length === 0) return [required(path.child('containers'))];
  const again = noDuplicates();
  const errors = itemErrors(spec, 'containers', path, (container, at) => [
    ...containerErrors(container, at, parts),
    ...again(container.name ?? '', at.child('name')),
    ...lifecycleErrors(container, at, parts.grace),
    ...probesErrors(container, at, parts.grace),
    ...restartErrors(container, at),
  ]);
  return [...errors, ...hostPortErrors(containers, path.child('containers'))];
}

const NOT_FOR_INIT = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'];

/** Validates init containers, which run before the regular ones or, if they always restart, beside them. */
export function initErrors(spec: PodSpec, path: FieldPath, parts: PodParts, before: PodSpec | undefined): FieldError[] {
  const names = new Set(namesOf(spec.containers ?? []));
  const hadResizes = (before?.initContainers ?? []).some(restartsOnResize);
  return itemErrors(spec, 'initContainers', path, (container, at) => {
    const name = container.name ?? '';
    const beside = container.restartPolicy === 'Always';
    const errors = [...containerErrors(container, at, parts), ...restartErrors(container, at)];
    if (names.has(name)) errors.push(duplicate(at.child('name'), name));
    else if (name !== '') names.add(name);
    // They run one after another: each is checked separately, as if it were the first.
    errors.push(...hostPortErrors([container], path.child('initContainers')));
    if (beside)
      return [...errors, ...lifecycleErrors(container, at, parts.grace), ...probesErrors(container, at, parts.grace)];
    const why = 'may not be set for init containers without restartPolicy=Always';
    const set = NOT_FOR_INIT.filter((field) => isObject(container[field]));
    errors.push(...set.map((field) => forbidden(at.child(field), why)));
    return hadResizes ? errors : [...errors, ...resizeErrors(container, at)];
  });
}

/** Reports whether an existing init container already has the resize policy that is forbidden now. */
const restartsOnResize = (container: Container): boolean =>
  container.restartPolicy !== 'Always' &&
  (container.resizePolicy ?? []).some((policy) => policy.restartPolicy === 'RestartContainer');

const resizeErrors = (container: Container, path: FieldPath): FieldError[] =>
  itemErrors(container, 'resizePolicy', path, ({ restartPolicy }, at) => {
    if (restartPolicy !== 'RestartContainer') return [];
    const why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
    return [invalid(at.child('restartPolicy'), 'RestartContainer', why)];
  });

/** The fields that ephemeral containers may not have, in the order of the type. */
const NOT_FOR_EPHEMERAL = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
];

function isSet(container: EphemeralContainer, field: string): boolean {
  const value = container[field] ?? emptyMembersOf(container)?.[field] ?? null;
  if (field !== 'resources') return value !== null;
  return isObject(value) && (Object.keys(value).length > 0 || emptyMembersOf(value) !== undefined);
}

/** Validates ephemeral containers, which users start in a running pod to debug it. */
export function ephemeralErrors(spec: PodSpec, path: FieldPath, parts: PodParts): FieldError[] {
  const others = new Set(namesOf([...(spec.containers ?? []), ...(spec.initContainers ?? [])]));
  const names = new Set(others);
  return itemErrors(spec, 'ephemeralContainers', path, (container, at) => {
    const name = container.name ?? '';
    const errors = [...containerErrors(container, at, parts), ...paddedImageErrors(container, at)];
    if (names.has(name)) errors.push(duplicate(at.child('name'), name));
    names.add(name);
    const target = container.targetContainerName ?? '';
    if (target !== '' && !others.has(target)) errors.push(notFound(at.child('targetContainerName'), target));
    const why = 'cannot be set for an Ephemeral Container';
    const set = NOT_FOR_EPHEMERAL.filter((field) => isSet(container, field));
    errors.push(...set.map((field) => forbidden(at.child(field), why)));
    return [
      ...errors,
      ...itemErrors(container, 'volumeMounts', at, (mount, mountPath) =>
        (['subPath', 'subPathExpr'] as const)
          .filter((field) => mount[field])
          .map((field) => forbidden(mountPath.child(field), why)),
      ),
    ];
  });
}
