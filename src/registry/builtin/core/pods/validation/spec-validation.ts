import {
  duplicate,
  type FieldError,
  FieldPath,
  forbidden,
  invalid,
  notSupported,
  Printed,
  required,
  tooLong,
} from '../../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt, objectsOf, textAt, textOf } from '../../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../../apimachinery/meta/meta.js';
import { emptyMembersOf } from '../../../../../apimachinery/scheme/empty-members.js';
import { internalJson } from '../../../../../apimachinery/scheme/internal-diff.js';
import {
  labelErrors,
  qualifiedNameErrors,
  subdomainErrors,
  subdomainErrorsIfSet,
} from '../../../../../apimachinery/validation/name-errors.js';
import { validateLabels } from '../../../../../apimachinery/validation/object-meta.js';
import {
  choice,
  eachErrors,
  integerOf,
  ipErrors,
  itemErrors,
  MAX_INT32,
  noDuplicates,
  rangeErrors,
} from '../../../shared/checks.js';
import { numberOf } from '../../../shared/fields.js';
import { resourceErrors } from '../../../shared/resources.js';
import { allContainers, ephemeralErrors, initErrors, regularErrors } from '../containers/container-lists.js';
import type { PodParts } from '../containers/containers.js';
import { dnsErrors } from './dns.js';
import { envFileErrors } from '../containers/env.js';
import { MIRROR_ANNOTATION } from '../fields.js';
import { aggregateErrors } from '../pod-resources.js';
import { affinityErrors, spreadErrors, tolerationErrors } from '../scheduling.js';
import { podSecurityErrors, sharedProcessErrors } from '../containers/security.js';
import { volumeErrors } from './volumes.js';
import { hostProcessErrors, osErrors } from '../containers/windows.js';

const SPEC = FieldPath.of('spec');
const MAX_HOSTNAME = 64;

/** Validates the resource claims of a pod. */
function claimErrors(pod: KubeObject, spec: JsonObject): FieldError[] {
  const names = new Set<string>();
  return itemErrors(spec, 'resourceClaims', SPEC, (claim, at) => {
    if (pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined) {
      return [forbidden('', 'static pods do not support resource claims')];
    }
    const name = textAt(claim, 'name');
    const errors: FieldError[] = [];
    if (name === '') errors.push(required(at.child('name')));
    else if (names.has(name)) errors.push(duplicate(at.child('name'), name));
    else errors.push(...labelErrors(name, at.child('name')));
    names.add(name);
    const given = ['resourceClaimName', 'resourceClaimTemplateName'].filter(
      (field) => typeof claim[field] === 'string',
    );
    const shown = new Printed(internalJson('PodSpec', ['ResourceClaims'], claim));
    if (given.length > 1) {
      const why = 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified';
      errors.push(invalid(at, shown, why));
    }
    if (given.length === 0) {
      errors.push(invalid(at, shown, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'));
    }
    return [...errors, ...given.flatMap((field) => subdomainErrors(textAt(claim, field), at.child(field)))];
  });
}

/** Validates the requests and limits of the pod as a whole. */
function resourcesErrors(spec: JsonObject, claims: ReadonlySet<string>): FieldError[] {
  const resources = objectAt(spec, 'resources');
  if (resources === undefined) return [];
  const path = SPEC.child('resources');
  if (objectAt(spec, 'os')?.['name'] === 'windows') return [forbidden(path, 'may not be set for a windows pod')];
  const claimed = resources['claims'] ?? emptyMembersOf(resources)?.['claims'];
  const errors =
    claimed === undefined ? [] : [forbidden(path.child('claims'), 'claims may not be set for Resources at pod-level')];
  return [...errors, ...resourceErrors(resources, path, claims, 'pod'), ...aggregateErrors(spec, resources, path)];
}

/** Requires host ports to equal container ports in the host's network. */
function hostNetworkErrors(spec: JsonObject): FieldError[] {
  if (spec['hostNetwork'] !== true) return [];
  return itemErrors(spec, 'containers', SPEC, (container, containerPath) =>
    itemErrors(container, 'ports', containerPath, (port, path) => {
      const host = numberOf(port['hostPort']);
      if (host === numberOf(port['containerPort'])) return [];
      return [invalid(path.child('hostPort'), host, 'must match `containerPort` when `hostNetwork` is true')];
    }),
  );
}

function gateErrors(spec: JsonObject): FieldError[] {
  const again = noDuplicates();
  return itemErrors(spec, 'schedulingGates', SPEC, (gate, path) => {
    const name = textAt(gate, 'name');
    return [...qualifiedNameErrors(name, path), ...again(name, path)];
  });
}

/** Rejects volume devices, and the network, PID and IPC namespaces of the host, in a pod with its own user namespace. */
function hostUserErrors(spec: JsonObject, before: JsonObject | undefined): FieldError[] {
  if (spec['hostUsers'] !== false) return [];
  const why = 'when `hostUsers` is false';
  const shared = [
    ['hostNetwork', 'hostNetwork'],
    ['hostPID', 'HostPID'],
    ['hostIPC', 'HostIPC'],
  ].filter(([field = '']) => spec[field] === true);
  const errors = shared.map(([, shown = '']) => forbidden(SPEC.child(shown), why));
  const hasDevices = (container: JsonObject): boolean => objectsOf(container['volumeDevices']).length > 0;
  const had =
    before?.['hostUsers'] === false && allContainers(before, SPEC).some(([container]) => hasDevices(container));
  if (had) return errors;
  const devices = allContainers(spec, SPEC).filter(([container]) => hasDevices(container));
  return [...errors, ...devices.map(([, path]) => forbidden(path.child('volumeDevices'), why))];
}

function hostnameErrors(spec: JsonObject): FieldError[] {
  const name = spec['hostnameOverride'];
  if (typeof name !== 'string') return [];
  const path = SPEC.child('hostnameOverride');
  const errors: FieldError[] = [];
  if (spec['setHostnameAsFQDN'] === true) {
    errors.push(forbidden(path, 'may not be specified when setHostnameAsFQDN is true'));
  }
  if (spec['hostNetwork'] === true) errors.push(forbidden(path, 'may not be specified when hostNetwork is true'));
  if (Buffer.byteLength(name) > MAX_HOSTNAME) errors.push(tooLong(path, MAX_HOSTNAME));
  return [...errors, ...subdomainErrors(name, path)];
}

function aliasErrors(alias: JsonObject, path: FieldPath): FieldError[] {
  const names = Array.isArray(alias['hostnames']) ? alias['hostnames'].map(textOf) : [];
  return [
    ...ipErrors(textAt(alias, 'ip'), path.child('ip')),
    ...eachErrors(names, path.child('hostnames'), subdomainErrors),
  ];
}

/** Validates the service account, the node, the deadline and the hostname of the pod. */
function placeErrors(spec: JsonObject): FieldError[] {
  const errors = ['serviceAccountName', 'nodeName'].flatMap((field) =>
    subdomainErrorsIfSet(textAt(spec, field), SPEC.child(field)),
  );
  const deadline = integerOf(spec['activeDeadlineSeconds']);
  if (deadline !== undefined) errors.push(...rangeErrors(deadline, SPEC.child('activeDeadlineSeconds'), 1, MAX_INT32));
  for (const field of ['hostname', 'subdomain']) {
    const value = textAt(spec, field);
    if (value !== '') errors.push(...labelErrors(value, SPEC.child(field)));
  }
  return errors;
}

function classErrors(spec: JsonObject): FieldError[] {
  const runtime = spec['runtimeClassName'];
  const preemption = spec['preemptionPolicy'];
  return [
    ...subdomainErrorsIfSet(textAt(spec, 'priorityClassName'), SPEC.child('priorityClassName')),
    ...(typeof runtime === 'string' ? subdomainErrors(runtime, SPEC.child('runtimeClassName')) : []),
    ...(typeof preemption === 'string'
      ? choice(preemption, SPEC.child('preemptionPolicy'), ['PreemptLowerPriority', 'Never'])
      : []),
  ];
}

function systemErrors(spec: JsonObject): FieldError[] {
  const os = objectAt(spec, 'os');
  if (os === undefined) return [];
  const name = textAt(os, 'name');
  const path = SPEC.child('os');
  if (name === '') return [required(path.child('name'))];
  if (name !== 'linux' && name !== 'windows') return [notSupported(path, name, ['linux', 'windows'])];
  return osErrors(spec, allContainers(spec, SPEC), SPEC, name);
}

/** Validates the spec of a pod. `before` is the spec of the pod being updated. */
export function podSpecErrors(pod: KubeObject, before: JsonObject | undefined): FieldError[] {
  const spec = objectAt(pod, 'spec') ?? {};
  const volumes = objectsOf(spec['volumes']);
  const claims = objectsOf(spec['resourceClaims']);
  const [errors, sound] = volumeErrors(pod, volumes, SPEC.child('volumes'));
  const parts: PodParts = {
    volumes: sound,
    claims: new Set(claims.map((claim) => textAt(claim, 'name')).filter((name) => name !== '')),
    grace: integerOf(spec['terminationGracePeriodSeconds']),
    restartPolicy: textAt(spec, 'restartPolicy'),
    hostUsers: spec['hostUsers'] !== false,
  };

  const overhead = objectAt(spec, 'overhead');
  const containers = allContainers(spec, SPEC);
  return [
    ...errors,
    ...claimErrors(pod, spec),
    ...regularErrors(spec, SPEC, parts),
    ...initErrors(spec, SPEC, parts, before),
    ...ephemeralErrors(spec, SPEC, parts),
    ...resourcesErrors(spec, parts.claims),
    ...hostNetworkErrors(spec),
    ...choice(parts.restartPolicy, SPEC.child('restartPolicy'), ['Always', 'OnFailure', 'Never']),
    ...choice(textAt(spec, 'dnsPolicy'), SPEC.child('dnsPolicy'), [
      'ClusterFirstWithHostNet',
      'ClusterFirst',
      'Default',
      'None',
    ]),
    ...validateLabels(objectAt(spec, 'nodeSelector') as Record<string, string> | undefined, SPEC.child('nodeSelector')),
    ...podSecurityErrors(spec, SPEC.child('securityContext')),
    ...sharedProcessErrors(spec, SPEC),
    ...affinityErrors(objectAt(spec, 'affinity'), SPEC.child('affinity')),
    ...dnsErrors(spec, SPEC.child('dnsConfig')),
    ...itemErrors(spec, 'readinessGates', SPEC, (gate, path) =>
      qualifiedNameErrors(textAt(gate, 'conditionType'), path.child('conditionType')),
    ),
    ...gateErrors(spec),
    ...spreadErrors(objectsOf(spec['topologySpreadConstraints']), SPEC.child('topologySpreadConstraints')),
    ...hostProcessErrors(spec, containers, SPEC),
    ...hostUserErrors(spec, before),
    ...hostnameErrors(spec),
    ...placeErrors(spec),
    ...itemErrors(spec, 'tolerations', SPEC, tolerationErrors),
    ...itemErrors(spec, 'hostAliases', SPEC, aliasErrors),
    ...classErrors(spec),
    ...(overhead === undefined ? [] : resourceErrors({ limits: overhead }, SPEC.child('overhead'), new Set())),
    ...systemErrors(spec),
    ...envFileErrors(containers, volumes),
  ];
}
