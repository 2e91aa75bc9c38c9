import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notFound,
  required,
  tooMany,
} from '../../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt, objectsOf, textAt } from '../../../../../apimachinery/json/json.js';
import { labelErrors } from '../../../../../apimachinery/validation/name-errors.js';
import {
  backstepErrors,
  choice,
  choiceIfSet,
  descendingPathErrors,
  eachErrors,
  itemErrors,
  noDuplicates,
  portNameErrors,
  portNumberErrors,
  PROTOCOLS,
  requiredOr,
  type TextCheck,
} from '../../../shared/checks.js';
import { numberOf } from '../../../shared/fields.js';
import { resourceErrors } from '../../../shared/resources.js';
import { envErrors, envFromErrors } from './env.js';
import { PULL_POLICIES } from '../fields.js';
import { containerSecurityErrors } from './security.js';

/** The parts of a pod that the validation of its containers needs. */
export interface PodParts {
  /** The valid volumes, by name. */
  readonly volumes: ReadonlyMap<string, JsonObject>;
  /** The names of the pod's resource claims. */
  readonly claims: ReadonlySet<string>;
  /** The termination grace period of the pod in seconds. */
  readonly grace: number | bigint | undefined;
  readonly restartPolicy: string;
  readonly hostUsers: boolean;
}

const TERMINATION_POLICIES = ['File', 'FallbackToLogsOnError'];

function portErrors(port: JsonObject, path: FieldPath, again: TextCheck): FieldError[] {
  const name = textAt(port, 'name');
  const errors = name === '' ? [] : portNameErrors(name, path.child('name'));
  if (name !== '' && errors.length === 0) errors.push(...again(name, path.child('name')));
  const number = numberOf(port['containerPort']);
  const at = path.child('containerPort');
  errors.push(...(number === 0 ? [required(at)] : portNumberErrors(number, at)));
  const host = numberOf(port['hostPort']);
  if (host !== 0) errors.push(...portNumberErrors(host, path.child('hostPort')));
  return [...errors, ...choice(textAt(port, 'protocol'), path.child('protocol'), PROTOCOLS)];
}

const PROPAGATION = ['Bidirectional', 'HostToContainer', 'None'];

function propagationErrors(mount: JsonObject, container: JsonObject, path: FieldPath): FieldError[] {
  const mode = mount['mountPropagation'];
  const errors = choiceIfSet(mode, path, PROPAGATION);
  const privileged = objectAt(container, 'securityContext')?.['privileged'] === true;
  if (mode !== 'Bidirectional' || privileged) return errors;
  return [...errors, forbidden(path, 'Bidirectional mount propagation is available only to privileged containers')];
}

function recursiveErrors(mount: JsonObject, path: FieldPath): FieldError[] {
  const mode = mount['recursiveReadOnly'];
  if (mode !== 'Enabled' && mode !== 'IfPossible') {
    return choiceIfSet(mode, path, ['Disabled', 'Enabled', 'IfPossible']);
  }
  const errors: FieldError[] = [];
  if (mount['readOnly'] !== true) errors.push(forbidden(path, 'may only be specified when readOnly is true'));
  if ((mount['mountPropagation'] ?? 'None') !== 'None') {
    errors.push(forbidden(path, 'may only be specified when mountPropagation is None or not specified'));
  }
  return errors;
}

/** Validates the volume mounts of a container, none of which may also be a volume device. `path` is that of the container. */
function mountErrors(container: JsonObject, path: FieldPath, { volumes }: PodParts): FieldError[] {
  const all = path.child('volumeMounts');
  const devices = new Map(
    objectsOf(container['volumeDevices']).map((one) => [textAt(one, 'name'), textAt(one, 'devicePath')]),
  );
  const devicePaths = new Set(devices.values());
  const points = new Set<string>();
  return itemErrors(container, 'volumeMounts', path, (mount, at) => {
    const name = textAt(mount, 'name');
    const point = textAt(mount, 'mountPath');
    const errors = name === '' ? [required(at.child('name'))] : [];
    if (!volumes.has(name)) errors.push(notFound(at.child('name'), name));
    if (point === '') errors.push(required(at.child('mountPath')));
    if (points.has(point)) errors.push(invalid(at.child('mountPath'), point, 'must be unique'));
    points.add(point);
    if (devices.has(name)) errors.push(invalid(at.child('name'), name, 'must not already exist in volumeDevices'));
    if (devicePaths.has(point)) {
      errors.push(invalid(at.child('mountPath'), point, 'must not already exist as a path in volumeDevices'));
    }
    const [sub, expression] = [textAt(mount, 'subPath'), textAt(mount, 'subPathExpr')];
    // For some fields kube-apiserver reports the list, not the item.
    if (sub !== '') errors.push(...descendingPathErrors(sub, all.child('subPath')));
    if (expression !== '') {
      const why = 'subPathExpr and subPath are mutually exclusive';
      if (sub !== '') errors.push(invalid(at.child('subPathExpr'), expression, why));
      errors.push(...descendingPathErrors(expression, all.child('subPathExpr')));
    }
    errors.push(...propagationErrors(mount, container, all.child('mountPropagation')));
    return [...errors, ...recursiveErrors(mount, all.child('recursiveReadOnly'))];
  });
}

function deviceErrors(container: JsonObject, path: FieldPath, { volumes }: PodParts): FieldError[] {
  const mounts = new Map(
    objectsOf(container['volumeMounts']).map((one) => [textAt(one, 'name'), textAt(one, 'mountPath')]),
  );
  const mountPaths = new Set(mounts.values());
  const names = new Set<string>();
  const paths = new Set<string>();
  return itemErrors(container, 'volumeDevices', path, (device, at) => {
    const [nameAt, pathAt] = [at.child('name'), at.child('devicePath')];
    const [name, where] = [textAt(device, 'name'), textAt(device, 'devicePath')];
    const errors = name === '' ? [required(nameAt)] : [];
    if (names.has(name)) errors.push(invalid(nameAt, name, 'must be unique'));
    const volume = volumes.get(name);
    if (volume === undefined) errors.push(notFound(nameAt, name));
    else if (volume['persistentVolumeClaim'] === undefined && volume['ephemeral'] === undefined) {
      const why = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode';
      errors.push(invalid(nameAt, name, why));
    }
    if (where === '') errors.push(required(pathAt));
    if (paths.has(where)) errors.push(invalid(pathAt, where, 'must be unique'));
    if (backstepErrors(where, pathAt).length > 0) {
      errors.push(invalid(pathAt, where, "can not contain backsteps ('..')"));
    } else paths.add(where);
    if (mounts.has(name)) errors.push(invalid(nameAt, name, 'must not already exist in volumeMounts'));
    if (mountPaths.has(where)) {
      errors.push(invalid(pathAt, where, 'must not already exist as a path in volumeMounts'));
    }
    if (name !== '') names.add(name);
    return errors;
  });
}

/** Validates the resize policies of a container. In most errors kube-apiserver reports the list, not the item. */
function resizeErrors(policies: readonly JsonObject[], path: FieldPath, restartPolicy: string): FieldError[] {
  const again = noDuplicates();
  return eachErrors(policies, path, (policy, at) => {
    const resource = textAt(policy, 'resourceName');
    const restart = textAt(policy, 'restartPolicy');
    const errors = [...again(resource, at), ...choice(resource, path, ['cpu', 'memory'])];
    errors.push(...choice(restart, path, ['NotRequired', 'RestartContainer']));
    if (restartPolicy === 'Never' && restart !== 'NotRequired') {
      errors.push(invalid(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"));
    }
    return errors;
  });
}

/** Validates a container of any list. */
export function containerErrors(container: JsonObject, path: FieldPath, parts: PodParts): FieldError[] {
  const policy = textAt(container, 'terminationMessagePolicy');
  const again = noDuplicates();
  return [
    ...requiredOr(textAt(container, 'name'), path.child('name'), labelErrors),
    ...(textAt(container, 'image') === '' ? [required(path.child('image'))] : []),
    ...choice(policy, path.child('terminationMessagePolicy'), TERMINATION_POLICIES),
    ...itemErrors(container, 'ports', path, (port, at) => portErrors(port, at, again)),
    ...itemErrors(container, 'env', path, envErrors),
    ...envFromErrors(objectsOf(container['envFrom']), path.child('envFrom')),
    ...mountErrors(container, path, parts),
    ...deviceErrors(container, path, parts),
    ...choice(textAt(container, 'imagePullPolicy'), path.child('imagePullPolicy'), PULL_POLICIES),
    ...resourceErrors(objectAt(container, 'resources') ?? {}, path.child('resources'), parts.claims),
    ...resizeErrors(objectsOf(container['resizePolicy']), path.child('resizePolicy'), parts.restartPolicy),
    ...containerSecurityErrors(container, path.child('securityContext'), parts.hostUsers),
  ];
}

/** Rejects image names padded with whitespace. Only pod templates may have them. */
export function paddedImageErrors(container: JsonObject, path: FieldPath): FieldError[] {
  const image = textAt(container, 'image');
  if (image === image.trim()) return [];
  return [invalid(path.child('image'), image, 'must not have leading or trailing whitespace')];
}

/** Rejects host ports that are used twice. */
export function hostPortErrors(containers: readonly JsonObject[], path: FieldPath): FieldError[] {
  const again = noDuplicates();
  return eachErrors(containers, path, (container, containerPath) =>
    itemErrors(container, 'ports', containerPath, (port, at) => {
      const number = numberOf(port['hostPort']);
      const key = `${textAt(port, 'protocol')}/${textAt(port, 'hostIP')}/${String(number)}`;
      return number === 0 ? [] : again(key, at.child('hostPort'));
    }),
  );
}

const RESTART_POLICIES = ['Always', 'Never', 'OnFailure'];
const RESTART_ACTIONS = ['Restart', 'RestartAllContainers'];
const MAX_RULES = 20;
const MAX_EXIT_CODES = 255;

/** Validates the restart policy and the restart rules of a container, which override the pod's. */
export function restartErrors(container: JsonObject, path: FieldPath): FieldError[] {
  const rules = objectsOf(container['restartPolicyRules']);
  const policy = container['restartPolicy'];
  const at = path.child('restartPolicyRules');
  const errors = choiceIfSet(policy, path.child('restartPolicy'), RESTART_POLICIES);
  if (typeof policy !== 'string' && rules.length > 0) {
    errors.push(required(path.child('restartPolicy'), 'must specify restartPolicy when restart rules are used'));
  }
  if (rules.length > MAX_RULES) errors.push(tooMany(at, rules.length, MAX_RULES));
  return [...errors, ...itemErrors(container, 'restartPolicyRules', path, ruleErrors)];
}

function ruleErrors(rule: JsonObject, path: FieldPath): FieldError[] {
  const errors = choiceIfSet(textAt(rule, 'action'), path.child('action'), RESTART_ACTIONS);
  const codes = objectAt(rule, 'exitCodes');
  const at = path.child('exitCodes');
  if (codes === undefined) return [...errors, required(at, 'must be specified')];
  errors.push(...choiceIfSet(textAt(codes, 'operator'), at.child('operator'), ['In', 'NotIn']));
  const count = Array.isArray(codes['values']) ? codes['values'].length : 0;
  return count > MAX_EXIT_CODES ? [...errors, tooMany(at.child('values'), count, MAX_EXIT_CODES)] : errors;
}
