import {
  duplicate,
  type FieldError,
  FieldPath,
  forbidden,
  invalid,
  Printed,
  required,
  tooLong,
} from '../../../../../apimachinery/meta/field-error.js';
import type { Pod } from '../../../../../apimachinery/generated/core.js';
import { deepEqual, type JsonObject, objectAt, objectsOf, textAt } from '../../../../../apimachinery/json/json.js';
import { goJson, type KubeObject } from '../../../../../apimachinery/meta/meta.js';
import {
  labelErrors,
  qualifiedNameErrors,
  subdomainErrors,
} from '../../../../../apimachinery/validation/name-errors.js';
import {
  choiceIfSet,
  eachErrors,
  idErrors,
  integerOf,
  ipErrors,
  itemErrors,
  noDuplicates,
  rangeErrors,
  requiredOr,
} from '../../../shared/checks.js';
import { numberOf } from '../../../shared/fields.js';
import { STATUS_LISTS } from '../fields.js';

const STATUS = FieldPath.of('status');
const MAX_LINUX_UID = 2 ** 32 - 1;
const SYSTEM_CONDITIONS = ['PodScheduled', 'Ready', 'Initialized'];

/** Validates an update of a pod's status. */
export function podStatusErrors(pod: Pod, old: Pod): FieldError[] {
  const spec = objectAt(old, 'spec') ?? {};
  const status = objectAt(pod, 'status') ?? {};
  const before = objectAt(old, 'status') ?? {};
  const errors = [
    ...itemErrors(status, 'conditions', STATUS, conditionErrors),
    ...nominationErrors(status, before, spec),
    ...generationErrors(status, STATUS),
  ];
  if (!deepEqual(status['qosClass'], before['qosClass']))
    errors.push(invalid(STATUS.child('qosClass'), status['qosClass'] ?? '', 'field is immutable'));
  for (const [statuses, containers] of [
    ['containerStatuses', 'containers'],
    ['initContainerStatuses', 'initContainers'],
  ] as const) {
    const known = objectsOf(spec[containers]);
    errors.push(...revivedErrors(status, before, statuses, (name, code) => restarts(known, spec, name, code)));
  }
  errors.push(...revivedErrors(status, before, 'ephemeralContainerStatuses', () => false));
  return [
    ...errors,
    ...claimStatusErrors(status, spec),
    ...extendedClaimErrors(status, spec),
    ...listErrors(status, before, 'podIPs'),
    ...hostErrors(status, before),
    ...userErrors(status, spec),
    ...deviceErrors(status, spec),
  ];
}

function conditionErrors(condition: JsonObject, path: FieldPath): FieldError[] {
  const errors = generationErrors(condition, path);
  const type = textAt(condition, 'type');
  return SYSTEM_CONDITIONS.includes(type) ? errors : [...errors, ...qualifiedNameErrors(type, path.child('Type'))];
}

function generationErrors({ observedGeneration }: JsonObject, path: FieldPath): FieldError[] {
  if (numberOf(observedGeneration) >= 0) return [];
  return [invalid(path.child('observedGeneration'), observedGeneration, 'must be a non-negative integer')];
}

function nominationErrors(status: JsonObject, before: JsonObject, spec: JsonObject): FieldError[] {
  const name = textAt(status, 'nominatedNodeName');
  if (name === '' || name === textAt(before, 'nominatedNodeName')) return [];
  const path = STATUS.child('nominatedNodeName');
  const errors = subdomainErrors(name, path);
  if (textAt(spec, 'nodeName') !== '')
    errors.push(forbidden(path, 'may not be set on pods that are already bound to a node'));
  return errors;
}

/** Reports whether a terminated container is restarted. */
function restarts(known: readonly JsonObject[], spec: JsonObject, name: string, exitCode: number): boolean {
  const container = known.find((one) => textAt(one, 'name') === name);
  const policy = textAt(container, 'restartPolicy') || textAt(spec, 'restartPolicy');
  if (container === undefined) return policy === 'Always';
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

function revivedErrors(
  status: JsonObject,
  before: JsonObject,
  field: string,
  restarted: (name: string, exitCode: number) => boolean,
): FieldError[] {
  const after = objectsOf(status[field]);
  return objectsOf(before[field]).flatMap((old, i) => {
    const ended = objectAt(objectAt(old, 'state'), 'terminated');
    const name = textAt(old, 'name');
    const next = after.find((one) => textAt(one, 'name') === name);
    if (ended === undefined || next === undefined || objectAt(next, 'state')?.['terminated'] !== undefined) return [];
    if (restarted(name, numberOf(ended['exitCode']))) return [];
    const path = STATUS.child(field).index(i).child('state');
    return [forbidden(path, 'may not be transitioned to non-terminated state')];
  });
}

function listErrors(status: JsonObject, before: JsonObject, field: string): FieldError[] {
  const path = STATUS.child(field);
  const known = objectsOf(before[field]).map((one) => textAt(one, 'ip'));
  const ips = objectsOf(status[field]).map((one) => textAt(one, 'ip'));
  const errors = eachErrors(ips, path, (ip, at) => (known.includes(ip) ? [] : ipErrors(ip, at)));
  const both = new Set(ips.map((ip) => ip.includes(':'))).size === 2;
  if (ips.length > 1 && (!both || ips.length > 2)) {
    const shown = new Printed(goJson(ips.map((ip) => ({ IP: ip }))));
    errors.push(invalid(path, shown, 'may specify no more than one IP for each IP family'));
  }
  return errors;
}

function hostErrors(status: JsonObject, before: JsonObject): FieldError[] {
  const first = objectsOf(status['hostIPs'])[0];
  if (first === undefined) return [];
  const ip = textAt(first, 'ip');
  const errors = listErrors(status, before, 'hostIPs');
  if (ip === textAt(status, 'hostIP')) return errors;
  return [invalid(STATUS.child('hostIPs').index(0).child('ip'), ip, 'must be equal to `hostIP`'), ...errors];
}

const HEALTH = ['Healthy', 'Unhealthy', 'Unknown'];
const MAX_MESSAGE = 256;

/** Validates the statuses of the pod's resource claims. */
function claimStatusErrors(status: JsonObject, spec: JsonObject): FieldError[] {
  const known = new Set(objectsOf(spec['resourceClaims']).map((claim) => textAt(claim, 'name')));
  const again = noDuplicates();
  return itemErrors(status, 'resourceClaimStatuses', STATUS, (one, at) => {
    const name = textAt(one, 'name');
    const why = 'must match the name of an entry in `spec.resourceClaims`';
    const claim = one['resourceClaimName'];
    return [
      ...(known.has(name) ? [] : [invalid(at.child('name'), name, why)]),
      ...again(name, at.child('name')),
      ...(typeof claim === 'string' ? subdomainErrors(claim, at.child('resourceClaimName')) : []),
    ];
  });
}

const UNKNOWN_CONTAINER = 'must match the name of an entry in spec.initContainers.name or spec.containers.name';
const UNKNOWN_RESOURCE =
  'must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests';

/** Validates the status of the resource claim for the pod's extended resources. */
function extendedClaimErrors(status: JsonObject, spec: JsonObject): FieldError[] {
  const given = objectAt(status, 'extendedResourceClaimStatus');
  if (given === undefined) return [];
  const path = STATUS.child('extendedResourceClaimStatus');
  const containers = new Map(
    ['initContainers', 'containers'].flatMap((list) =>
      objectsOf(spec[list]).map((one) => [textAt(one, 'name'), one] as const),
    ),
  );
  const mappings = objectsOf(given['requestMappings']);
  const all = path.child('requestMappings');
  const errors = mappings.length === 0 ? [required(all, 'at least one request mapping is required')] : [];
  const seen = new Set<string>();
  mappings.forEach((mapping, i) => {
    const at = all.index(i);
    const names = {
      containerName: textAt(mapping, 'containerName'),
      resourceName: textAt(mapping, 'resourceName'),
      requestName: textAt(mapping, 'requestName'),
    };
    const { containerName, resourceName, requestName } = names;
    const container = containers.get(containerName);
    if (container === undefined) errors.push(invalid(at.child('containerName'), containerName, UNKNOWN_CONTAINER));
    else if (objectAt(objectAt(container, 'resources'), 'requests')?.[resourceName] === undefined) {
      errors.push(invalid(at.child('resourceName'), resourceName, UNKNOWN_RESOURCE));
    }
    errors.push(...labelErrors(requestName, path.child('requestName')));
    const key = JSON.stringify(names);
    if (seen.has(key)) errors.push(...Object.entries(names).map(([field, name]) => duplicate(at.child(field), name)));
    seen.add(key);
  });
  return [
    ...errors,
    ...requiredOr(textAt(given, 'resourceClaimName'), path.child('resourceClaimName'), subdomainErrors),
  ];
}

/** Validates the users that containers run as. */
function userErrors(status: JsonObject, spec: JsonObject): FieldError[] {
  const os = textAt(objectAt(spec, 'os'), 'name') || 'linux';
  return STATUS_LISTS.flatMap((list) =>
    itemErrors(status, list, STATUS, (one, path) => {
      const user = objectAt(objectAt(one, 'user'), 'linux');
      if (user === undefined) return [];
      const at = path.child('user', 'linux');
      // The runtime reports it: any that Linux has, which are more than a pod may ask for.
      const uid = integerOf(user['uid']);
      if (os === 'windows') return [forbidden(at, 'cannot be set for a windows pod')];
      const groups = user['supplementalGroups'];
      return [
        ...(uid === undefined ? [] : rangeErrors(uid, at.child('uid'), 0, MAX_LINUX_UID)),
        ...idErrors(user['gid'], at.child('gid')),
        ...eachErrors(Array.isArray(groups) ? groups : [], at.child('supplementalGroups'), idErrors),
      ];
    }),
  );
}

function isAsked(name: string, container: JsonObject): boolean {
  const resources = objectAt(container, 'resources');
  if (!name.startsWith('claim:')) return objectAt(resources, 'requests')?.[name] !== undefined;
  return objectsOf(resources?.['claims']).some((claim) => {
    const request = textAt(claim, 'request');
    return name === `claim:${textAt(claim, 'name')}${request === '' ? '' : `/${request}`}`;
  });
}

function healthErrors(device: JsonObject, path: FieldPath): FieldError[] {
  const again = noDuplicates();
  return itemErrors(device, 'resources', path, (resource, at) => {
    const errors = choiceIfSet(textAt(resource, 'health'), at.child('health'), HEALTH);
    const message = resource['message'];
    if (message === '') errors.push(required(at.child('message'), 'must be non-empty if specified'));
    else if (typeof message === 'string' && Buffer.byteLength(message) > MAX_MESSAGE) {
      errors.push(tooLong(at.child('message'), MAX_MESSAGE));
    }
    return [...errors, ...again(textAt(resource, 'resourceID'), at.child('resourceID'))];
  });
}

/** Validates the health of the devices allocated to containers. */
function deviceErrors(status: JsonObject, spec: JsonObject): FieldError[] {
  return STATUS_LISTS.flatMap((list) => {
    const containers = objectsOf(spec[list === 'containerStatuses' ? 'containers' : 'initContainers']);
    return itemErrors(status, list, STATUS, (one, at) => {
      if (list === 'ephemeralContainerStatuses') {
        if (objectsOf(one['allocatedResourcesStatus']).length === 0) return [];
        return [forbidden(at.child('allocatedResourcesStatus'), 'must not be specified in container status')];
      }
      const container = containers.find((other) => textAt(other, 'name') === textAt(one, 'name'));
      return itemErrors(one, 'allocatedResourcesStatus', at, (device, path) => {
        const name = textAt(device, 'name');
        const errors = healthErrors(device, path);
        if (container === undefined || isAsked(name, container)) return errors;
        const why = name.startsWith('claim:')
          ? "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"
          : "must match one of the container's resource requests";
        return [invalid(path.child('name'), name, why), ...errors];
      });
    });
  });
}
