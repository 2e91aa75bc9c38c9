import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notFound,
  required,
} from '../../../../../apimachinery/meta/field-error.js';
import { isObject, type JsonObject, objectsOf, textAt } from '../../../../../apimachinery/json/json.js';
import { emptyMembersOf } from '../../../../../apimachinery/scheme/empty-members.js';
import { containerErrors, hostPortErrors, paddedImageErrors, type PodParts, restartErrors } from './containers.js';
import { itemErrors, noDuplicates } from '../../../shared/checks.js';
import { CONTAINER_LISTS } from '../fields.js';
import { lifecycleErrors, probesErrors } from './handlers.js';

/** Returns all containers of a pod with their paths, in kube-apiserver's order. */
export function allContainers(spec: JsonObject, path: FieldPath): (readonly [JsonObject, FieldPath])[] {
  return CONTAINER_LISTS.flatMap((list) =>
    objectsOf(spec[list]).map((container, i) => [container, path.child(list).index(i)] as const),
  );
}

const namesOf = (containers: readonly JsonObject[]): string[] => containers.map((one) => textAt(one, 'name'));

export function regularErrors(spec: JsonObject, path: FieldPath, parts: PodParts): FieldError[] {
  const containers = objectsOf(spec['containers']);
  if (containers.length === 0) return [required(path.child('containers'))];
  const again = noDuplicates();
  const errors = itemErrors(spec, 'containers', path, (container, at) => [
    ...containerErrors(container, at, parts),
    ...again(textAt(container, 'name'), at.child('name')),
    ...lifecycleErrors(container, at, parts.grace),
    ...probesErrors(container, at, parts.grace),
    ...restartErrors(container, at),
  ]);
  return [...errors, ...hostPortErrors(containers, path.child('containers'))];
}

const NOT_FOR_INIT = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'];

/** Validates init containers, which run before the regular ones or, if they always restart, beside them. */
export function initErrors(
  spec: JsonObject,
  path: FieldPath,
  parts: PodParts,
  before: JsonObject | undefined,
): FieldError[] {
  const names = new Set(namesOf(objectsOf(spec['containers'])));
  const hadResizes = objectsOf(before?.['initContainers']).some(restartsOnResize);
  return itemErrors(spec, 'initContainers', path, (container, at) => {
    const name = textAt(container, 'name');
    const beside = container['restartPolicy'] === 'Always';
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
const restartsOnResize = (container: JsonObject): boolean =>
  container['restartPolicy'] !== 'Always' &&
  objectsOf(container['resizePolicy']).some((policy) => policy['restartPolicy'] === 'RestartContainer');

const resizeErrors = (container: JsonObject, path: FieldPath): FieldError[] =>
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

function isSet(container: JsonObject, field: string): boolean {
  const value = container[field] ?? emptyMembersOf(container)?.[field] ?? null;
  if (field !== 'resources') return value !== null;
  return isObject(value) && (Object.keys(value).length > 0 || emptyMembersOf(value) !== undefined);
}

/** Validates ephemeral containers, which users start in a running pod to debug it. */
export function ephemeralErrors(spec: JsonObject, path: FieldPath, parts: PodParts): FieldError[] {
  const others = new Set(namesOf([...objectsOf(spec['containers']), ...objectsOf(spec['initContainers'])]));
  const names = new Set(others);
  return itemErrors(spec, 'ephemeralContainers', path, (container, at) => {
    const name = textAt(container, 'name');
    const errors = [...containerErrors(container, at, parts), ...paddedImageErrors(container, at)];
    if (names.has(name)) errors.push(duplicate(at.child('name'), name));
    names.add(name);
    const target = textAt(container, 'targetContainerName');
    if (target !== '' && !others.has(target)) errors.push(notFound(at.child('targetContainerName'), target));
    const why = 'cannot be set for an Ephemeral Container';
    const set = NOT_FOR_EPHEMERAL.filter((field) => isSet(container, field));
    errors.push(...set.map((field) => forbidden(at.child(field), why)));
    return [
      ...errors,
      ...itemErrors(container, 'volumeMounts', at, (mount, mountPath) =>
        ['subPath', 'subPathExpr']
          .filter((field) => textAt(mount, field) !== '')
          .map((field) => forbidden(mountPath.child(field), why)),
      ),
    ];
  });
}
