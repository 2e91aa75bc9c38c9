import { posix } from 'node:path';
import {
  type FieldError,
  FieldPath,
  forbidden,
  invalid,
  notSupported,
  Printed,
  required,
} from '../../../../apimachinery/meta/field-error.js';
import { deepEqual, isObject, type JsonValue } from '../../../../apimachinery/json/json.js';
import type * as core from '../../../../apimachinery/generated/core.js';
import { formatTime } from '../../../../apimachinery/meta/meta.js';
import { emptyMembersOf } from '../../../../apimachinery/scheme/empty-members.js';
import { internalDiff, internalJson } from '../../../../apimachinery/scheme/internal-diff.js';
import { subdomainErrors, subdomainErrorsIfSet } from '../../../../apimachinery/validation/name-errors.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import {
  FIELD_IMMUTABLE,
  semanticEqual,
  validateImmutableField,
} from '../../../../apimachinery/validation/object-meta.js';
import type { RequestContext } from '../../../../request/context.js';
import type { Strategy } from '../../../rest/interfaces.js';
import { choice, choiceIfSet } from '../../shared/checks.js';
import { ensureObject, keepField } from '../../shared/fields.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../../shared/meta.js';
import { nodeSelectorErrors } from '../../shared/node-selector.js';
import { resets } from '../../shared/resource-type.js';
import { basicQuantityErrors, roundQuantities } from '../../shared/resources.js';
import { defaultSources } from '../../shared/volume-sources.js';
import {
  accessModeErrors,
  CLASS_ANNOTATION,
  CLASS_DEPRECATED,
  positiveQuantityErrors,
  VOLUME_MODES,
} from '../../shared/volumes.js';
import { persistentSourceErrors } from './sources.js';

const SPEC = FieldPath.of('spec');
const RECLAIM = ['Delete', 'Recycle', 'Retain'];

/** The fields of the spec that are not volume sources. */
const NOT_SOURCES = new Set([
  'capacity',
  'accessModes',
  'claimRef',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'mountOptions',
  'volumeMode',
  'nodeAffinity',
  'volumeAttributesClassName',
]);

const sourcesOf = (object: core.PersistentVolume): string[] =>
  Object.keys(object.spec ?? {}).filter((field) => !NOT_SOURCES.has(field));

/** Returns the volume sources of the spec. */
function sourceOf(object: core.PersistentVolume): core.PersistentVolumeSpec {
  const spec = object.spec;
  return Object.fromEntries(sourcesOf(object).map((field) => [field, spec?.[field]]));
}

/** Validates a volume, on creation and on update. */
export function persistentVolumeErrors(object: core.PersistentVolume): FieldError[] {
  const errors = validateCoreMeta(object.metadata, 'Cluster', nameIsDnsSubdomain);
  const spec: core.PersistentVolumeSpec = object.spec ?? {};
  errors.push(...accessModeErrors(spec.accessModes, SPEC.child('accessModes'), ''));
  const capacity = spec.capacity ?? {};
  const capacityPath = SPEC.child('capacity');
  const names = Object.keys(capacity);
  if (names.length === 0) errors.push(required(capacityPath));
  if (capacity['storage'] === undefined || names.length > 1) {
    errors.push(notSupported(capacityPath, spec.capacity ?? emptyMembersOf(spec)?.['capacity'] ?? null, ['storage']));
  }
  for (const name of names) {
    const at = capacityPath.key(name);
    errors.push(...basicQuantityErrors(capacity[name], at), ...positiveQuantityErrors(capacity[name], at));
  }
  const reclaim = spec.persistentVolumeReclaimPolicy ?? '';
  if (reclaim !== '') errors.push(...choice(reclaim, SPEC.child('persistentVolumeReclaimPolicy'), RECLAIM));
  errors.push(...nodeAffinityErrors(spec), ...persistentSourceErrors(spec, SPEC, object.metadata.name ?? ''));
  const host = spec.hostPath;
  if (host !== undefined && reclaim === 'Recycle' && posix.normalize(host.path ?? '').replace(/^\/+$/, '') === '') {
    const why = "may not be 'recycle' for a hostPath mount of '/'";
    errors.push(forbidden(SPEC.child('persistentVolumeReclaimPolicy'), why));
  }
  return [
    ...errors,
    ...subdomainErrorsIfSet(spec.storageClassName ?? '', SPEC.child('storageClassName')),
    ...choiceIfSet(spec.volumeMode, SPEC.child('volumeMode'), VOLUME_MODES),
    ...attributesClassErrors(spec),
  ];
}

/** Validates the affinity to the nodes from which the volume can be reached. */
function nodeAffinityErrors(spec: core.PersistentVolumeSpec): FieldError[] {
  const affinity = spec.nodeAffinity;
  if (affinity === undefined) return [];
  const path = SPEC.child('nodeAffinity', 'required');
  const needed = affinity.required;
  return needed === undefined
    ? [required(path, 'must specify required node constraints')]
    : nodeSelectorErrors(needed, path);
}

function attributesClassErrors(spec: core.PersistentVolumeSpec): FieldError[] {
  const name = spec.volumeAttributesClassName;
  if (typeof name !== 'string') return [];
  const path = SPEC.child('volumeAttributesClassName');
  const errors = name === '' ? [required(path, 'an empty string is disallowed')] : subdomainErrors(name, path);
  if (spec.csi !== undefined) return errors;
  return [...errors, required(SPEC.child('csi'), 'has to be specified when using volumeAttributesClassName')];
}

/** Node labels that were renamed. An affinity may switch to the new names. */
const RENAMED: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
  'beta.kubernetes.io/os': 'kubernetes.io/os',
  'beta.kubernetes.io/arch': 'kubernetes.io/arch',
  'beta.kubernetes.io/instance-type': 'node.kubernetes.io/instance-type',
};

/** Allows an existing affinity only to switch to the new names of labels. */
function affinityChangeErrors(spec: core.PersistentVolumeSpec, before: core.PersistentVolumeSpec): FieldError[] {
  const was = before.nodeAffinity;
  if (was === undefined) return [];
  const is = spec.nodeAffinity;
  if (is !== undefined && sameButNames(is, was)) return [];
  const why = `${FIELD_IMMUTABLE}, except for updating from beta label to GA`;
  return [invalid(FieldPath.of('nodeAffinity'), is === undefined ? null : printAffinity(is), why)];
}

const NODE_SELECTOR = ['Affinity', 'NodeAffinity', 'RequiredDuringSchedulingIgnoredDuringExecution'];

const printAffinity = (affinity: core.VolumeNodeAffinity): Printed =>
  new Printed(`{"Required":${internalJson('PodSpec', NODE_SELECTOR, affinity.required)}}`);

function sameButNames(is: JsonValue | undefined, was: JsonValue | undefined, name = ''): boolean {
  // A label without a new name may become empty.
  if (name === 'key' && typeof was === 'string' && (RENAMED[was] ?? '') === (is ?? '')) return true;
  if (Array.isArray(is) && Array.isArray(was)) {
    return is.length === was.length && is.every((one, i) => sameButNames(one, was[i]));
  }
  if (isObject(is) && isObject(was)) {
    return [...new Set([...Object.keys(is), ...Object.keys(was)])].every((key) => sameButNames(is[key], was[key], key));
  }
  return semanticEqual(is, was);
}

function updateErrors(object: core.PersistentVolume, old: core.PersistentVolume): FieldError[] {
  const spec: core.PersistentVolumeSpec = object.spec ?? {};
  const before: core.PersistentVolumeSpec = old.spec ?? {};
  const errors: FieldError[] = [];
  const was = sourceOf(old);
  const is = sourceOf(object);
  // This secret may be set once.
  if (was.csi !== undefined && was.csi.controllerExpandSecretRef === undefined && is.csi !== undefined) {
    const { controllerExpandSecretRef: _, ...csi } = is.csi;
    is.csi = csi;
  }
  if (!deepEqual(is, was)) {
    const why = `spec.persistentvolumesource is immutable after creation\n${internalDiff('PersistentVolumeSource', was, is)}`;
    errors.push(forbidden(SPEC.child('persistentvolumesource'), why));
  }
  errors.push(...validateImmutableField(spec.volumeMode, before.volumeMode, FieldPath.of('volumeMode')));
  errors.push(...affinityChangeErrors(spec, before));
  const [name, nameBefore] = [spec, before].map((one) => one.volumeAttributesClassName ?? undefined);
  if (name === undefined && nameBefore !== undefined) {
    errors.push(forbidden(SPEC.child('volumeAttributesClassName'), 'update from non-nil value to nil is forbidden'));
  }
  return errors;
}

export function applyPersistentVolumeDefaults(object: core.PersistentVolume): void {
  const spec = ensureObject(object, 'spec');
  ensureObject(object, 'status').phase ||= 'Pending';
  spec.persistentVolumeReclaimPolicy ||= 'Retain';
  spec.volumeMode ??= 'Filesystem';
  const host = spec.hostPath;
  if (host !== undefined) host.type ??= '';
  defaultSources(spec);
  roundQuantities(spec.capacity);
}

/** Sets lastPhaseTransitionTime when the phase changes, unless the client set it. */
function stampTransition(context: RequestContext, object: core.PersistentVolume, old: core.PersistentVolume): void {
  const status = ensureObject(object, 'status');
  const before: core.PersistentVolumeStatus = old.status ?? {};
  const since = status.lastPhaseTransitionTime;
  if (status.phase === before.phase) {
    if (since === undefined && before.lastPhaseTransitionTime !== undefined) {
      status.lastPhaseTransitionTime = before.lastPhaseTransitionTime;
    }
  } else if (since === undefined || since === before.lastPhaseTransitionTime) {
    status.lastPhaseTransitionTime = formatTime(context.receivedAt);
  }
}

const DEPRECATED_ANNOTATIONS: Readonly<Record<string, string>> = {
  [CLASS_ANNOTATION]: CLASS_DEPRECATED,
  'volume.beta.kubernetes.io/mount-options': 'deprecated since v1.31; use "mountOptions" attribute instead',
};

/** Volume sources that no kubelet supports any more, with the versions that deprecated and removed them. */
const DEPRECATED_SOURCES: readonly (readonly [string, string, string])[] = [
  ['cephfs', 'v1.28', 'v1.31'],
  ['photonPersistentDisk', 'v1.11', 'v1.16'],
  ['scaleIO', 'v1.16', 'v1.22'],
  ['storageos', 'v1.22', 'v1.25'],
  ['glusterfs', 'v1.25', 'v1.26'],
  ['rbd', 'v1.28', 'v1.31'],
];

function warnings(object: core.PersistentVolume): string[] {
  const texts: string[] = [];
  for (const [key, text] of Object.entries(DEPRECATED_ANNOTATIONS)) {
    if (object.metadata.annotations?.[key] !== undefined) texts.push(`metadata.annotations[${key}]: ${text}`);
  }
  const spec: core.PersistentVolumeSpec = object.spec ?? {};
  if (spec.persistentVolumeReclaimPolicy === 'Recycle') {
    texts.push(
      'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
    );
  }
  for (const [source, since, gone] of DEPRECATED_SOURCES) {
    const shown = source === 'storageos' ? 'storageOS' : source;
    if (spec[source] !== undefined) texts.push(`spec.${shown}: deprecated in ${since}, non-functional in ${gone}+`);
  }
  return texts;
}

export const persistentVolumeStrategy: Strategy<core.PersistentVolume> = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  resetFields: resets(['status']),
  prepareForCreate: (context, object) => {
    object.status = { phase: 'Pending', lastPhaseTransitionTime: formatTime(context.receivedAt) };
  },
  prepareForUpdate: (_context, object, old) => keepField('status', object, old),
  validateCreate: (_context, object) => persistentVolumeErrors(object),
  // kube-apiserver validates the volume twice, and returns each error twice.
  validateUpdate: (_context, object, old) => [
    ...persistentVolumeErrors(object),
    ...persistentVolumeErrors(object),
    ...updateErrors(object, old),
  ],
  warningsOnCreate: (_context, object) => warnings(object),
  warningsOnUpdate: (_context, object) => warnings(object),
};

export const persistentVolumeStatusStrategy: Strategy<core.PersistentVolume> = {
  ...persistentVolumeStrategy,
  resetFields: resets(['spec']),
  prepareForUpdate: (context, object, old) => {
    keepField('spec', object, old);
    stampTransition(context, object, old);
  },
  validateUpdate: (_context, object, old) => validateCoreMetaUpdate(object.metadata, old.metadata),
  warningsOnUpdate: () => [],
};
