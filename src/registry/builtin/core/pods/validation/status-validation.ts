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
import type * as core from '../../../../../apimachinery/generated/core.js';
import { deepEqual } from '../../../../../apimachinery/json/json.js';
import { goJson } from '../../../../../apimachinery/meta/meta.js';
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
export function podStatusErrors(pod: core.Pod, old: core.Pod): FieldError[] {
  const spec: core.PodSpec = old.spec ?? {};
  const status: core.PodStatus = pod.status ?? {};
  const before: core.PodStatus = old.status ?? {};
  const errors = [
    ...itemErrors(status, 'conditions', STATUS, conditionErrors),
    ...nominationErrors(status, before, spec),
    ...generationErrors(status, STATUS),
  ];
  if (!deepEqual(status.qosClass, before.qosClass))
    errors.push(invalid(STATUS.child('qosClass'), status.qosClass ?? '', 'field is immutable'));
  for (const [statuses, containers] of [
    ['containerStatuses', 'containers'],
    ['initContainerStatuses', 'initContainers'],
  ] as const) {
    const known = spec[containers] ?? [];
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

function conditionErrors(condition: core.PodCondition, path: FieldPath): FieldError[] {
  const errors = generationErrors(condition, path);
  const type = condition.type ?? '';
  return SYSTEM_CONDITIONS.includes(type) ? errors : [...errors, ...qualifiedNameErrors(type, path.child('Type'))];
}

function generationErrors({ observedGeneration }: core.PodStatus | core.PodCondition, path: FieldPath): FieldError[] {
  if (numberOf(observedGeneration) >= 0) return [];
  return [invalid(path.child('observedGeneration'), observedGeneration, 'must be a non-negative integer')];
}

function nominationErrors(status: core.PodStatus, before: core.PodStatus, spec: core.PodSpec): FieldError[] {
  const name = status.nominatedNodeName ?? '';
  if (name === '' || name === (before.nominatedNodeName ?? '')) return [];
  const path = STATUS.child('nominatedNodeName');
  const errors = subdomainErrors(name, path);
  if (spec.nodeName) errors.push(forbidden(path, 'may not be set on pods that are already bound to a node'));
  return errors;
}

/** Reports whether a terminated container is restarted. */
function restarts(known: readonly core.Container[], spec: core.PodSpec, name: string, exitCode: number): boolean {
  const container = known.find((one) => (one.name ?? '') === name);
  const policy = container?.restartPolicy || (spec.restartPolicy ?? '');
  if (container === undefined) return policy === 'Always';
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

function revivedErrors(
  status: core.PodStatus,
  before: core.PodStatus,
  field: (typeof STATUS_LISTS)[number],
  restarted: (name: string, exitCode: number) => boolean,
): FieldError[] {
  return (before[field] ?? []).flatMap((old, i) => {
    const ended = old.state?.terminated;
    const name = old.name ?? '';
    const next = status[field]?.find((one) => (one.name ?? '') === name);
    if (ended === undefined || next === undefined || next.state?.terminated !== undefined) return [];
    if (restarted(name, numberOf(ended.exitCode))) return [];
    const path = STATUS.child(field).index(i).child('state');
    return [forbidden(path, 'may not be transitioned to non-terminated state')];
  });
}

function listErrors(status: core.PodStatus, before: core.PodStatus, field: 'podIPs' | 'hostIPs'): FieldError[] {
  const path = STATUS.child(field);
  const known = (before[field] ?? []).map(({ ip = '' }) => ip);
  const ips = (status[field] ?? []).map(({ ip = '' }) => ip);
  const errors = eachErrors(ips, path, (ip, at) => (known.includes(ip) ? [] : ipErrors(ip, at)));
  const both = new Set(ips.map((ip) => ip.includes(':'))).size === 2;
  if (ips.length > 1 && (!both || ips.length > 2)) {
    const shown = new Printed(goJson(ips.map((ip) => ({ IP: ip }))));
    errors.push(invalid(path, shown, 'may specify no more than one IP for each IP family'));
  }
  return errors;
}

function hostErrors(status: core.PodStatus, before: core.PodStatus): FieldError[] {
  const first = (status.hostIPs ?? [])[0];
  if (first === undefined) return [];
  const ip = first.ip ?? '';
  const errors = listErrors(status, before, 'hostIPs');
  if (ip === (status.hostIP ?? '')) return errors;
  return [invalid(STATUS.child('hostIPs').index(0).child('ip'), ip, 'must be equal to `hostIP`'), ...errors];
}

const HEALTH = ['Healthy', 'Unhealthy', 'Unknown'];
const MAX_MESSAGE = 256;

/** Validates the statuses of the pod's resource claims. */
function claimStatusErrors(status: core.PodStatus, spec: core.PodSpec): FieldError[] {
  const known = new Set((spec.resourceClaims ?? []).map((claim) => claim.name ?? ''));
  const again = noDuplicates();
  return itemErrors(status, 'resourceClaimStatuses', STATUS, (one, at) => {
    const name = one.name ?? '';
    const why = 'must match the name of an entry in `spec.resourceClaims`';
    const claim = one.resourceClaimName;
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
function extendedClaimErrors(status: core.PodStatus, spec: core.PodSpec): FieldError[] {
  const given = status.extendedResourceClaimStatus;
  if (given === undefined) return [];
  const path = STATUS.child('extendedResourceClaimStatus');
  const containers = new Map(
    [...(spec.initContainers ?? []), ...(spec.containers ?? [])].map((one) => [one.name ?? '', one] as const),
  );
  const mappings = given.requestMappings ?? [];
  const all = path.child('requestMappings');
  const errors = mappings.length === 0 ? [required(all, 'at least one request mapping is required')] : [];
  const seen = new Set<string>();
  mappings.forEach((mapping, i) => {
    const at = all.index(i);
    const names = {
      containerName: mapping.containerName ?? '',
      resourceName: mapping.resourceName ?? '',
      requestName: mapping.requestName ?? '',
    };
    const { containerName, resourceName, requestName } = names;
    const container = containers.get(containerName);
    if (container === undefined) errors.push(invalid(at.child('containerName'), containerName, UNKNOWN_CONTAINER));
    else if (container.resources?.requests?.[resourceName] === undefined) {
      errors.push(invalid(at.child('resourceName'), resourceName, UNKNOWN_RESOURCE));
    }
    errors.push(...labelErrors(requestName, path.child('requestName')));
    const key = JSON.stringify(names);
    if (seen.has(key)) errors.push(...Object.entries(names).map(([field, name]) => duplicate(at.child(field), name)));
    seen.add(key);
  });
  return [...errors, ...requiredOr(given.resourceClaimName ?? '', path.child('resourceClaimName'), subdomainErrors)];
}

/** Validates the users that containers run as. */
function userErrors(status: core.PodStatus, spec: core.PodSpec): FieldError[] {
  const os = spec.os?.name || 'linux';
  return STATUS_LISTS.flatMap((list) =>
    itemErrors(status, list, STATUS, (one, path) => {
      const user = one.user?.linux;
      if (user === undefined) return [];
      const at = path.child('user', 'linux');
      // The runtime reports it: any that Linux has, which are more than a pod may ask for.
      const uid = integerOf(user.uid);
      if (os === 'windows') return [forbidden(at, 'cannot be set for a windows pod')];
      const groups = user.supplementalGroups;
      return [
        ...(uid === undefined ? [] : rangeErrors(uid, at.child('uid'), 0, MAX_LINUX_UID)),
        ...idErrors(user.gid, at.child('gid')),
        ...eachErrors(Array.isArray(groups) ? groups : [], at.child('supplementalGroups'), idErrors),
      ];
    }),
  );
}

function isAsked(name: string, container: core.Container): boolean {
  const resources = container.resources;
  if (!name.startsWith('claim:')) return resources?.requests?.[name] !== undefined;
  return (resources?.claims ?? []).some((claim) => {
    const request = claim.request ?? '';
    return name === `claim:${claim.name ?? ''}${request === '' ? '' : `/${request}`}`;
  });
}

function healthErrors(device: core.ResourceStatus, path: FieldPath): FieldError[] {
  const again = noDuplicates();
  return itemErrors(device, 'resources', path, (resource, at) => {
    const errors = choiceIfSet(resource.health ?? '', at.child('health'), HEALTH);
    const message = resource.message;
    if (message === '') errors.push(required(at.child('message'), 'must be non-empty if specified'));
    else if (typeof message === 'string' && Buffer.byteLength(message) > MAX_MESSAGE) {
      errors.push(tooLong(at.child('message'), MAX_MESSAGE));
    }
    return [...errors, ...again(resource.resourceID ?? '', at.child('resourceID'))];
  });
}

/** Validates the health of the devices allocated to containers. */
function deviceErrors(status: core.PodStatus, spec: core.PodSpec): FieldError[] {
  return STATUS_LISTS.flatMap((list) => {
    const containers = spec[list === 'containerStatuses' ? 'containers' : 'initContainers'] ?? [];
    return itemErrors(status, list, STATUS, (one, at) => {
      if (list === 'ephemeralContainerStatuses') {
        if ((one.allocatedResourcesStatus ?? []).length === 0) return [];
        return [forbidden(at.child('allocatedResourcesStatus'), 'must not be specified in container status')];
      }
      const container = containers.find((other) => (other.name ?? '') === (one.name ?? ''));
      return itemErrors(one, 'allocatedResourcesStatus', at, (device, path) => {
        const name = device.name ?? '';
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
