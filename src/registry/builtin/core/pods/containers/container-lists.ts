import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notFound,
  required,
} from '../../../../../apimachinery/meta/field-error.js';
import { isObject, type JsonObject } from '../../../../../apimachinery/json/json.js';
import { objectsOf, textOf } from '../../../../../apimachinery/json/values.js';
import { emptyMembersOf } from '../../../../../apimachinery/scheme/empty-members.js';
import { containerErrors, hostPortErrors, paddedImageErrors, type PodParts, restartErrors } from './containers.js';
import { CONTAINER_LISTS } from '../fields.js';
import { lifecycleErrors, probesErrors } from './handlers.js';

/** Returns all containers of a pod with their paths, in kube-apiserver's order. */
export function allContainers(spec: JsonObject, path: FieldPath): (readonly [JsonObject, FieldPath])[] {
  return CONTAINER_LISTS.flatMap((list) =>
    objectsOf(spec[list]).map((container, i) => [container, path.child(list).index(i)] as const),
  );
}

const namesOf = (containers: readonly JsonObject[]): string[] => containers.map(({ name }) => textOf(name));

export function regularErrors(containers: readonly JsonObject[], path: FieldPath, parts: PodParts): FieldError[] {
  if (containers.length === 0) return [required(path)];
  const names = new Set<string>();
  const errors = containers.flatMap((container, i) => {
    const at = path.index(i);
    const name = textOf(container['name']);
    const found = containerErrors(container, at, parts);
    if (names.has(name)) found.push(duplicate(at.child('name'), name));
    names.add(name);
    return [
      ...found,
      ...lifecycleErrors(container, at, parts.grace),
      ...probesErrors(container, at, parts.grace),
      ...restartErrors(container, at),
    ];
  });
  return [...errors, ...hostPortErrors(containers, path)];
}

const NOT_FOR_INIT = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'];

/** Validates init containers, which run before the regular ones or, if they always restart, beside them. */
export function initErrors(
  containers: readonly JsonObject[],
  regular: readonly JsonObject[],
  path: FieldPath,
  parts: PodParts,
  before: readonly JsonObject[] | undefined,
): FieldError[] {
  const names = new Set(namesOf(regular));
  return containers.flatMap((container, i) => {
    const at = path.index(i);
    const name = textOf(container['name']);
    const beside = container['restartPolicy'] === 'Always';
    const errors = [...containerErrors(container, at, parts), ...restartErrors(container, at)];
    if (names.has(name)) errors.push(duplicate(at.child('name'), name));
    else if (name !== '') names.add(name);
    // They run one after another: each is checked separately, as if it were the first.
    errors.push(...hostPortErrors([container], path));
    if (beside)
      return [...errors, ...lifecycleErrors(container, at, parts.grace), ...probesErrors(container, at, parts.grace)];
    const why = 'may not be set for init containers without restartPolicy=Always';
    const set = NOT_FOR_INIT.filter((field) => isObject(container[field]));
    errors.push(...set.map((field) => forbidden(at.child(field), why)));
    return before?.some(restartsOnResize) === true ? errors : [...errors, ...resizeErrors(container, at)];
  });
}

/** Reports whether an existing init container already has the resize policy that is forbidden now. */
const restartsOnResize = (container: JsonObject): boolean =>
  container['restartPolicy'] !== 'Always' &&
  objectsOf(container['resizePolicy']).some((policy) => policy['restartPolicy'] === 'RestartContainer');

function resizeErrors(container: JsonObject, path: FieldPath): FieldError[] {
  return objectsOf(container['resizePolicy']).flatMap((policy, i) => {
    if (policy['restartPolicy'] !== 'RestartContainer') return [];
    const at = path.child('resizePolicy').index(i).child('restartPolicy');
    return [invalid(at, 'RestartContainer', "must not be set to 'RestartContainer' for non-sidecar initContainers")];
  });
}

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
  return objectsOf(spec['ephemeralContainers']).flatMap((container, i) => {
    const at = path.index(i);
    const name = textOf(container['name']);
    const errors = [...containerErrors(container, at, parts), ...paddedImageErrors(container, at)];
    if (names.has(name)) errors.push(duplicate(at.child('name'), name));
    names.add(name);
    const target = textOf(container['targetContainerName']);
    if (target !== '' && !others.has(target)) errors.push(notFound(at.child('targetContainerName'), target));
    const why = 'cannot be set for an Ephemeral Container';
    const set = NOT_FOR_EPHEMERAL.filter((field) => isSet(container, field));
    errors.push(...set.map((field) => forbidden(at.child(field), why)));
    objectsOf(container['volumeMounts']).forEach((mount, j) => {
      for (const field of ['subPath', 'subPathExpr']) {
        if (textOf(mount[field]) !== '') errors.push(forbidden(at.child('volumeMounts').index(j).child(field), why));
      }
    });
    return errors;
  });
}
