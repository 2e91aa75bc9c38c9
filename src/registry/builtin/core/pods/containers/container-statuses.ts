import {
  duplicate,
  type FieldError,
  FieldPath,
  forbidden,
  invalid,
  required,
  tooLong,
} from '../../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt } from '../../../../../apimachinery/json/json.js';
import { objectsOf, textOf } from '../../../../../apimachinery/json/values.js';
import { labelErrors, subdomainErrors } from '../../../../../apimachinery/validation/name-errors.js';
import { choiceIfSet, idErrors } from '../../../shared/checks.js';
import { STATUS_LISTS } from '../fields.js';

const STATUS = FieldPath.of('status');
const HEALTH = ['Healthy', 'Unhealthy', 'Unknown'];
const MAX_MESSAGE = 256;

/** Validates the statuses of the pod's resource claims. */
export function claimStatusErrors(status: JsonObject, spec: JsonObject): FieldError[] {
  const known = new Set(objectsOf(spec['resourceClaims']).map(({ name }) => textOf(name)));
  const seen = new Set<string>();
  return objectsOf(status['resourceClaimStatuses']).flatMap((one, i) => {
    const at = STATUS.child('resourceClaimStatuses').index(i);
    const name = textOf(one['name']);
    const why = 'must match the name of an entry in `spec.resourceClaims`';
    const errors = known.has(name) ? [] : [invalid(at.child('name'), name, why)];
    if (seen.has(name)) errors.push(duplicate(at.child('name'), name));
    seen.add(name);
    const claim = one['resourceClaimName'];
    if (typeof claim !== 'string') return errors;
    return [...errors, ...subdomainErrors(claim, at.child('resourceClaimName'))];
  });
}

const UNKNOWN_CONTAINER = 'must match the name of an entry in spec.initContainers.name or spec.containers.name';
const UNKNOWN_RESOURCE =
  'must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests';

/** Validates the status of the resource claim for the pod's extended resources. */
export function extendedClaimErrors(status: JsonObject, spec: JsonObject): FieldError[] {
  const given = objectAt(status, 'extendedResourceClaimStatus');
  if (given === undefined) return [];
  const path = STATUS.child('extendedResourceClaimStatus');
  const containers = new Map(
    ['initContainers', 'containers'].flatMap((list) =>
      objectsOf(spec[list]).map((one) => [textOf(one['name']), one] as const),
    ),
  );
  const mappings = objectsOf(given['requestMappings']);
  const all = path.child('requestMappings');
  const errors = mappings.length === 0 ? [required(all, 'at least one request mapping is required')] : [];
  const seen = new Set<string>();
  mappings.forEach((mapping, i) => {
    const names = ['containerName', 'resourceName', 'requestName'].map(
      (field) => [field, textOf(mapping[field])] as const,
    );
    const [[, name], [, resource], [, request]] = names as [(typeof names)[0], (typeof names)[0], (typeof names)[0]];
    const container = containers.get(name);
    if (container === undefined) errors.push(invalid(all.index(i).child('containerName'), name, UNKNOWN_CONTAINER));
    else if (objectAt(objectAt(container, 'resources'), 'requests')?.[resource] === undefined) {
      errors.push(invalid(all.index(i).child('resourceName'), resource, UNKNOWN_RESOURCE));
    }
    errors.push(...labelErrors(request, path.child('requestName')));
    const key = JSON.stringify(names);
    if (seen.has(key)) errors.push(...names.map(([field, value]) => duplicate(all.index(i).child(field), value)));
    seen.add(key);
  });
  const claim = textOf(given['resourceClaimName']);
  const at = path.child('resourceClaimName');
  if (claim === '') return [...errors, required(at)];
  return [...errors, ...subdomainErrors(claim, at)];
}

/** Validates the users that containers run as. */
export function userErrors(status: JsonObject, spec: JsonObject): FieldError[] {
  const os = textOf(objectAt(spec, 'os')?.['name']) || 'linux';
  return STATUS_LISTS.flatMap((list) =>
    objectsOf(status[list]).flatMap((one, i) => {
      const user = objectAt(objectAt(one, 'user'), 'linux');
      if (user === undefined) return [];
      const at = STATUS.child(list).index(i).child('user', 'linux');
      if (os === 'windows') return [forbidden(at, 'cannot be set for a windows pod')];
      const groups = user['supplementalGroups'];
      return [
        ...idErrors(user['uid'], at.child('uid')),
        ...idErrors(user['gid'], at.child('gid')),
        ...(Array.isArray(groups) ? groups : []).flatMap((id, j) =>
          idErrors(id, at.child('supplementalGroups').index(j)),
        ),
      ];
    }),
  );
}

function isAsked(name: string, container: JsonObject): boolean {
  const resources = objectAt(container, 'resources');
  if (!name.startsWith('claim:')) return objectAt(resources, 'requests')?.[name] !== undefined;
  return objectsOf(resources?.['claims']).some((claim) => {
    const request = textOf(claim['request']);
    return name === `claim:${textOf(claim['name'])}${request === '' ? '' : `/${request}`}`;
  });
}

function healthErrors(resources: readonly JsonObject[], path: FieldPath): FieldError[] {
  const ids = new Set<string>();
  return resources.flatMap((resource, i) => {
    const at = path.index(i);
    const errors = choiceIfSet(textOf(resource['health']), at.child('health'), HEALTH);
    const message = resource['message'];
    if (message === '') errors.push(required(at.child('message'), 'must be non-empty if specified'));
    else if (typeof message === 'string' && Buffer.byteLength(message) > MAX_MESSAGE) {
      errors.push(tooLong(at.child('message'), MAX_MESSAGE));
    }
    const id = textOf(resource['resourceID']);
    if (ids.has(id)) errors.push(duplicate(at.child('resourceID'), id));
    ids.add(id);
    return errors;
  });
}

/** Validates the health of the devices allocated to containers. */
export function deviceErrors(status: JsonObject, spec: JsonObject): FieldError[] {
  return STATUS_LISTS.flatMap((list) => {
    const containers = objectsOf(spec[list === 'containerStatuses' ? 'containers' : 'initContainers']);
    return objectsOf(status[list]).flatMap((one, i) => {
      const given = objectsOf(one['allocatedResourcesStatus']);
      const path = STATUS.child(list).index(i).child('allocatedResourcesStatus');
      if (list === 'ephemeralContainerStatuses') {
        return given.length === 0 ? [] : [forbidden(path, 'must not be specified in container status')];
      }
      const container = containers.find((other) => textOf(other['name']) === textOf(one['name']));
      return given.flatMap((device, j) => {
        const name = textOf(device['name']);
        const errors = healthErrors(objectsOf(device['resources']), path.index(j).child('resources'));
        if (container === undefined || isAsked(name, container)) return errors;
        const why = name.startsWith('claim:')
          ? "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
          : "must match one of the container's resource requests";
        return [invalid(path.index(j).child('name'), name, why), ...errors];
      });
    });
  });
}
