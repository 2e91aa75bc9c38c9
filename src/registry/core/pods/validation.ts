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
import { copyOfStruct } from '../../../apimachinery/scheme/decoder.js';
import { internalDiff } from '../../../apimachinery/scheme/internal-diff.js';
import { PROTOCOLS } from '../endpoints/strategy.js';
import { numberOf, objectsOf, textOf } from '../shared/fields.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../shared/meta.js';
import { volumeSourceErrors } from '../shared/volumes.js';

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
  const name = textOf(container['name']);
  const errors = nameErrors(name, path.child('name'), new Set());
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
  if (names.has(name)) errors.push(duplicate(path.child('name'), name));
  names.add(name);
  return errors;
}

function specErrors(pod: KubeObject): FieldError[] {
  const spec = objectAt(pod, 'spec') ?? {};
  const errors: FieldError[] = [];
  const volumes = new Set<string>();
  objectsOf(spec['volumes']).forEach((volume, i) => {
    const path = SPEC.child('volumes').index(i);
    errors.push(...volumeSourceErrors(volume, path));
    errors.push(...nameErrors(textOf(volume['name']), path.child('name'), volumes));
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

/** A specification in which an update has changed only what it may not change. */
function munged(spec: JsonObject, old: JsonObject): JsonObject {
  const fixed = copyOfStruct(spec, 'initContainers');
  for (const list of ['containers', 'initContainers']) {
    if (spec[list] === undefined) continue;
    const before = objectsOf(old[list]);
    fixed[list] = objectsOf(spec[list]).map((one, i) =>
      Object.assign(copyOfStruct(one), { image: before[i]?.['image'] }),
    );
  }
  for (const field of ['activeDeadlineSeconds', 'schedulingGates', 'tolerations']) fixed[field] = old[field];
  if (numberOf(old['terminationGracePeriodSeconds']) < 0 && spec['terminationGracePeriodSeconds'] === 1) {
    fixed['terminationGracePeriodSeconds'] = old['terminationGracePeriodSeconds'];
  }
  return fixed;
}

/** Members of a v1 specification that are the security context's in the unversioned one. */
const HOST_FIELDS = ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace', 'hostUsers'];

function unversioned(spec: JsonObject): JsonObject {
  const context: JsonObject = { ...objectAt(spec, 'securityContext') };
  for (const field of HOST_FIELDS) context[field] = spec[field];
  return Object.assign(copyOfStruct(spec), { securityContext: context });
}

/** Whether it `ends` what is looked at: nothing else is reported then. */
function deadlineErrors(spec: JsonObject, old: JsonObject): readonly [errors: FieldError[], ends: boolean] {
  const path = SPEC.child('activeDeadlineSeconds');
  const now = spec['activeDeadlineSeconds'];
  const before = old['activeDeadlineSeconds'];
  if (typeof now !== 'number' && typeof now !== 'bigint') {
    const lost = before !== undefined;
    return [lost ? [invalid(path, null, 'must not update from a positive integer to nil value')] : [], false];
  }
  if (now < 0 || now > 2147483647) return [[invalid(path, now, inclusiveRangeError(0, 2147483647))], true];
  if (typeof before === 'number' && before < now) {
    return [[invalid(path, now, 'must be less than or equal to previous value')], true];
  }
  return [[], false];
}

function tolerationErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const rest = ({ tolerationSeconds: _, ...other }: JsonObject): JsonObject => other;
  const now = objectsOf(spec['tolerations']).map(rest);
  const lost = objectsOf(old['tolerations']).some((one) => !now.some((other) => deepEqual(rest(one), other)));
  const why = 'existing toleration can not be modified except its tolerationSeconds';
  return lost ? [forbidden(SPEC.child('tolerations'), why)] : [];
}

/** Gates may be opened, not added. */
function gateErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const known = new Set(objectsOf(old['schedulingGates']).map(({ name }) => textOf(name)));
  return objectsOf(spec['schedulingGates']).flatMap(({ name }, i) => {
    if (known.has(textOf(name))) return [];
    const why = `only deletion is allowed, but found new scheduling gate '${textOf(name)}'`;
    return [forbidden(SPEC.child('schedulingGates').index(i).child('name'), why)];
  });
}

/** The labels of nodes that a pod asks for may become more as long as gates hold it back. */
function selectorErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const now = objectAt(spec, 'nodeSelector') ?? {};
  const before = objectAt(old, 'nodeSelector') ?? {};
  if (Object.entries(before).every(([key, value]) => now[key] === value)) return [];
  const why = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)';
  return [invalid(SPEC.child('nodeSelector'), spec['nodeSelector'] ?? null, why)];
}

function imageErrors(containers: readonly JsonObject[], path: FieldPath): FieldError[] {
  return containers.flatMap((container, i) => {
    const at = path.index(i).child('image');
    const image = textOf(container['image']);
    if (image === '') return [required(at)];
    return image === image.trim() ? [] : [invalid(at, image, 'must not have leading or trailing whitespace')];
  });
}

export function validatePodUpdate(pod: KubeObject, old: KubeObject): FieldError[] {
  const errors = [...validateCoreMetaUpdate(pod.metadata, old.metadata), ...validatePod(pod)];
  const spec = objectAt(pod, 'spec') ?? {};
  const before = objectAt(old, 'spec') ?? {};
  for (const list of ['containers', 'initContainers']) {
    const containers = objectsOf(spec[list]);
    if (containers.length !== objectsOf(before[list]).length) {
      errors.push(forbidden(SPEC.child(list), 'pod updates may not add or remove containers'));
      return errors;
    }
    errors.push(...imageErrors(containers, SPEC.child(list)));
  }
  const [found, ends] = deadlineErrors(spec, before);
  errors.push(...found);
  if (ends) return errors;
  errors.push(...tolerationErrors(spec, before), ...gateErrors(spec, before));
  const changed = munged(spec, before);
  if (objectsOf(before['schedulingGates']).length > 0) {
    errors.push(...selectorErrors(changed, before));
    changed['nodeSelector'] = before['nodeSelector'];
  }
  const [was, is] = [unversioned(before), unversioned(changed)];
  if (!deepEqual(is, was)) errors.push(forbidden(SPEC, `${CHANGEABLE}\n${internalDiff('PodSpec', was, is)}`));
  return errors;
}
