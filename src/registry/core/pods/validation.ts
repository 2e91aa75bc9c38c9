import {
  duplicate,
  type FieldError,
  FieldPath,
  forbidden,
  invalid,
  notFound,
  notSupported,
  required,
} from '../../../apimachinery/field-error.js';
import { deepEqual, type JsonObject, objectAt } from '../../../apimachinery/json.js';
import type { KubeObject } from '../../../apimachinery/meta.js';
import {
  inclusiveRangeError,
  isDns1123Label,
  isDns1123Subdomain,
  isPortName,
  isRelaxedEnvVarName,
  nameIsDnsSubdomain,
} from '../../../apimachinery/validation/names.js';
import { validateLabels } from '../../../apimachinery/validation/object-meta.js';
import { PROTOCOLS } from '../endpoints/strategy.js';
import { numberOf, objectsOf, textOf } from '../shared/fields.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../shared/meta.js';

const SPEC = FieldPath.of('spec');

/** A value out of a list of values; required where it is empty. */
function choice(value: string, path: FieldPath, values: readonly string[], detail = ''): FieldError[] {
  if (value === '') return [required(path, detail)];
  return values.includes(value) ? [] : [notSupported(path, value, values)];
}

function nameErrors(name: string, path: FieldPath, seen: Set<string>): FieldError[] {
  if (name === '') return [required(path)];
  const errors = isDns1123Label(name).map((text) => invalid(path, name, text));
  if (seen.has(name)) errors.push(duplicate(path, name));
  seen.add(name);
  return errors;
}

function portErrors(port: JsonObject, path: FieldPath, names: Set<string>): FieldError[] {
  const errors: FieldError[] = [];
  const name = textOf(port['name']);
  if (name !== '') {
    const texts = isPortName(name);
    errors.push(...texts.map((text) => invalid(path.child('name'), name, text)));
    if (texts.length === 0 && names.has(name)) errors.push(duplicate(path.child('name'), name));
    names.add(name);
  }
  const number = numberOf(port['containerPort']);
  if (number === 0) errors.push(required(path.child('containerPort')));
  else if (number < 0 || number > 65535) {
    errors.push(invalid(path.child('containerPort'), number, inclusiveRangeError(1, 65535)));
  }
  const host = numberOf(port['hostPort']);
  if (host < 0 || host > 65535) errors.push(invalid(path.child('hostPort'), host, inclusiveRangeError(1, 65535)));
  errors.push(...choice(textOf(port['protocol']), path.child('protocol'), PROTOCOLS));
  return errors;
}

function mountErrors(mounts: readonly JsonObject[], volumes: ReadonlySet<string>, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const points = new Set<string>();
  mounts.forEach((mount, i) => {
    const at = path.index(i);
    const name = textOf(mount['name']);
    if (name === '') errors.push(required(at.child('name')));
    if (!volumes.has(name)) errors.push(notFound(at.child('name'), name));
    const point = textOf(mount['mountPath']);
    if (point === '') errors.push(required(at.child('mountPath')));
    if (points.has(point)) errors.push(invalid(at.child('mountPath'), point, 'must be unique'));
    points.add(point);
  });
  return errors;
}

function containerErrors(
  container: JsonObject,
  path: FieldPath,
  names: Set<string>,
  volumes: ReadonlySet<string>,
): FieldError[] {
  const errors = nameErrors(textOf(container['name']), path.child('name'), names);
  const image = textOf(container['image']);
  if (image === '') errors.push(required(path.child('image')));
  else if (image !== image.trim()) {
    errors.push(invalid(path.child('image'), image, 'must not have leading or trailing whitespace'));
  }
  errors.push(
    ...choice(textOf(container['terminationMessagePolicy']), path.child('terminationMessagePolicy'), [
      'File',
      'FallbackToLogsOnError',
    ]),
  );
  const portNames = new Set<string>();
  objectsOf(container['ports']).forEach((port, i) =>
    errors.push(...portErrors(port, path.child('ports').index(i), portNames)),
  );
  objectsOf(container['env']).forEach((variable, i) => {
    const at = path.child('env').index(i).child('name');
    const name = textOf(variable['name']);
    if (name === '') errors.push(required(at));
    else errors.push(...isRelaxedEnvVarName(name).map((text) => invalid(at, name, text)));
  });
  errors.push(...mountErrors(objectsOf(container['volumeMounts']), volumes, path.child('volumeMounts')));
  errors.push(
    ...choice(textOf(container['imagePullPolicy']), path.child('imagePullPolicy'), ['Always', 'IfNotPresent', 'Never']),
  );
  return errors;
}

function specErrors(pod: KubeObject): FieldError[] {
  const spec = objectAt(pod, 'spec') ?? {};
  const errors: FieldError[] = [];
  const volumes = new Set<string>();
  objectsOf(spec['volumes']).forEach((volume, i) => {
    errors.push(...nameErrors(textOf(volume['name']), SPEC.child('volumes').index(i).child('name'), volumes));
  });
  const containers = objectsOf(spec['containers']);
  if (containers.length === 0) errors.push(required(SPEC.child('containers')));
  const names = new Set<string>();
  for (const list of ['containers', 'initContainers']) {
    objectsOf(spec[list]).forEach((container, i) => {
      errors.push(...containerErrors(container, SPEC.child(list).index(i), names, volumes));
    });
  }
  if (objectsOf(spec['ephemeralContainers']).length > 0 && (pod.metadata.uid ?? '') === '') {
    errors.push(forbidden(SPEC.child('ephemeralContainers'), 'cannot be set on create'));
  }
  errors.push(...choice(textOf(spec['restartPolicy']), SPEC.child('restartPolicy'), ['Always', 'OnFailure', 'Never']));
  errors.push(
    ...choice(textOf(spec['dnsPolicy']), SPEC.child('dnsPolicy'), [
      'ClusterFirstWithHostNet',
      'ClusterFirst',
      'Default',
      'None',
    ]),
  );
  const selector = objectAt(spec, 'nodeSelector');
  if (selector !== undefined)
    errors.push(...validateLabels(selector as Record<string, string>, SPEC.child('nodeSelector')));
  for (const [field, check] of [
    ['serviceAccountName', isDns1123Subdomain],
    ['nodeName', isDns1123Subdomain],
    ['hostname', isDns1123Label],
    ['subdomain', isDns1123Label],
  ] as const) {
    const value = textOf(spec[field]);
    if (value !== '') errors.push(...check(value).map((text) => invalid(SPEC.child(field), value, text)));
  }
  const deadline = spec['activeDeadlineSeconds'];
  if (typeof deadline === 'number' && (deadline < 1 || deadline > 2147483647)) {
    errors.push(invalid(SPEC.child('activeDeadlineSeconds'), deadline, inclusiveRangeError(1, 2147483647)));
  }
  return errors;
}

export const validatePod = (pod: KubeObject): FieldError[] => [
  ...validateCoreMeta(pod.metadata, true, nameIsDnsSubdomain),
  ...specErrors(pod),
];

const CHANGEABLE =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** The specification without what an update may change. */
function fixedPart(spec: JsonObject, old: JsonObject): JsonObject {
  const fixed: JsonObject = { ...spec };
  for (const list of ['containers', 'initContainers']) {
    if (spec[list] === undefined) continue;
    fixed[list] = objectsOf(spec[list]).map(({ image: _, ...rest }) => rest);
  }
  delete fixed['activeDeadlineSeconds'];
  delete fixed['tolerations'];
  if (numberOf(old['terminationGracePeriodSeconds']) < 0 && spec['terminationGracePeriodSeconds'] === 1) {
    fixed['terminationGracePeriodSeconds'] = old['terminationGracePeriodSeconds'];
  }
  return fixed;
}

export function validatePodUpdate(pod: KubeObject, old: KubeObject): FieldError[] {
  const errors = [...validateCoreMetaUpdate(pod.metadata, old.metadata), ...validatePod(pod)];
  const spec = objectAt(pod, 'spec') ?? {};
  const before = objectAt(old, 'spec') ?? {};
  for (const list of ['containers', 'initContainers']) {
    if (objectsOf(spec[list]).length !== objectsOf(before[list]).length) {
      errors.push(forbidden(SPEC.child(list), 'pod updates may not add or remove containers'));
      return errors;
    }
  }
  const tolerations = objectsOf(spec['tolerations']);
  const lost = objectsOf(before['tolerations']).some((one) => !tolerations.some((other) => deepEqual(one, other)));
  if (lost) {
    errors.push(
      forbidden(SPEC.child('tolerations'), 'existing toleration can not be modified except its tolerationSeconds'),
    );
  }
  if (!deepEqual(fixedPart(spec, before), fixedPart(before, before))) errors.push(forbidden(SPEC, CHANGEABLE));
  return errors;
}
