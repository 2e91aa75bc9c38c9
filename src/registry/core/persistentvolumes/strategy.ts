import { posix } from 'node:path';
import {
  type FieldError,
  FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../apimachinery/field-error.js';
import { deepEqual, type JsonObject, objectAt } from '../../../apimachinery/json.js';
import { formatTime, type KubeObject } from '../../../apimachinery/meta.js';
import { internalDiff } from '../../../apimachinery/scheme/internal-diff.js';
import { nameIsDnsSubdomain } from '../../../apimachinery/validation/names.js';
import { validateImmutableField } from '../../../apimachinery/validation/object-meta.js';
import type { RequestContext } from '../../../request/context.js';
import type { Strategy } from '../../rest/interfaces.js';
import { ensureObject, keepField, setDefault, textOf } from '../shared/fields.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../shared/meta.js';
import { resets } from '../shared/resource-type.js';
import {
  accessModeErrors,
  CLASS_ANNOTATION,
  CLASS_DEPRECATED,
  positiveQuantityErrors,
  VOLUME_MODES,
} from '../shared/volumes.js';
import { sourceErrors } from './sources.js';

const SPEC = FieldPath.of('spec');
const RECLAIM = ['Delete', 'Recycle', 'Retain'];

/** Fields of the specification that are no kind of volume. */
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

const sourcesOf = (object: KubeObject): string[] =>
  Object.keys(objectAt(object, 'spec') ?? {}).filter((field) => !NOT_SOURCES.has(field));

/** The part of the specification that says what kind of volume it is. */
function sourceOf(object: KubeObject): JsonObject {
  const spec = objectAt(object, 'spec');
  return Object.fromEntries(sourcesOf(object).map((field) => [field, spec?.[field]]));
}

/** What is wrong with a volume, whether it is created or updated. */
export function persistentVolumeErrors(object: KubeObject): FieldError[] {
  const errors = validateCoreMeta(object.metadata, false, nameIsDnsSubdomain);
  const spec = objectAt(object, 'spec') ?? {};
  errors.push(...accessModeErrors(spec['accessModes'], SPEC.child('accessModes'), ''));
  const capacity = objectAt(spec, 'capacity') ?? {};
  const capacityPath = SPEC.child('capacity');
  const names = Object.keys(capacity);
  if (names.length === 0) errors.push(required(capacityPath));
  if (capacity['storage'] === undefined || names.length > 1) {
    errors.push(notSupported(capacityPath, names.length === 0 ? null : capacity, ['storage']));
  }
  for (const name of names) errors.push(...positiveQuantityErrors(capacity[name], capacityPath.key(name)));
  const reclaim = textOf(spec['persistentVolumeReclaimPolicy']);
  if (reclaim !== '' && !RECLAIM.includes(reclaim)) {
    errors.push(notSupported(SPEC.child('persistentVolumeReclaimPolicy'), reclaim, RECLAIM));
  }
  errors.push(...sourceErrors(spec, SPEC, object.metadata.name ?? ''));
  const host = objectAt(spec, 'hostPath');
  if (
    host !== undefined &&
    reclaim === 'Recycle' &&
    posix.normalize(textOf(host['path'])).replace(/^\/+$/, '') === ''
  ) {
    const why = "may not be 'recycle' for a hostPath mount of '/'";
    errors.push(forbidden(SPEC.child('persistentVolumeReclaimPolicy'), why));
  }
  const className = textOf(spec['storageClassName']);
  if (className !== '') {
    const path = SPEC.child('storageClassName');
    errors.push(...nameIsDnsSubdomain(className, false).map((text) => invalid(path, className, text)));
  }
  const mode = textOf(spec['volumeMode']);
  if (mode !== '' && !VOLUME_MODES.includes(mode))
    errors.push(notSupported(SPEC.child('volumeMode'), mode, VOLUME_MODES));
  return errors;
}

function updateErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const spec = objectAt(object, 'spec') ?? {};
  const before = objectAt(old, 'spec') ?? {};
  const errors: FieldError[] = [];
  const was = sourceOf(old);
  const is = sourceOf(object);
  const csi = objectAt(was, 'csi');
  const secret = objectAt(is, 'csi')?.['controllerExpandSecretRef'];
  // May be given once.
  if (csi !== undefined && csi['controllerExpandSecretRef'] === undefined && secret !== undefined) {
    is['csi'] = { ...objectAt(is, 'csi'), controllerExpandSecretRef: undefined };
  }
  if (!deepEqual(is, was)) {
    const why = `spec.persistentvolumesource is immutable after creation\n${internalDiff('PersistentVolumeSource', was, is)}`;
    errors.push(forbidden(SPEC.child('persistentvolumesource'), why));
  }
  errors.push(...validateImmutableField(spec['volumeMode'], before['volumeMode'], FieldPath.of('volumeMode')));
  return errors;
}

const AZURE_DISK: readonly (readonly [string, string | boolean])[] = [
  ['cachingMode', 'ReadWrite'],
  ['fsType', 'ext4'],
  ['readOnly', false],
  ['kind', 'Shared'],
];

export function applyPersistentVolumeDefaults(object: KubeObject): void {
  const spec = ensureObject(object, 'spec');
  setDefault(ensureObject(object, 'status'), 'phase', 'Pending');
  setDefault(spec, 'persistentVolumeReclaimPolicy', 'Retain');
  setDefault(spec, 'volumeMode', 'Filesystem');
  const host = objectAt(spec, 'hostPath');
  if (host !== undefined) host['type'] ??= '';
  const iscsi = objectAt(spec, 'iscsi');
  if (iscsi !== undefined) setDefault(iscsi, 'iscsiInterface', 'default');
  const rbd = objectAt(spec, 'rbd');
  if (rbd !== undefined) {
    setDefault(rbd, 'pool', 'rbd');
    setDefault(rbd, 'user', 'admin');
    setDefault(rbd, 'keyring', '/etc/ceph/keyring');
  }
  const disk = objectAt(spec, 'azureDisk');
  if (disk !== undefined) for (const [field, value] of AZURE_DISK) disk[field] ??= value;
  const scale = objectAt(spec, 'scaleIO');
  if (scale !== undefined) {
    setDefault(scale, 'storageMode', 'ThinProvisioned');
    setDefault(scale, 'fsType', 'xfs');
  }
}

/** Notes when the phase changed, unless the client did. */
function stampTransition(context: RequestContext, object: KubeObject, old: KubeObject): void {
  const status = ensureObject(object, 'status');
  const before = objectAt(old, 'status') ?? {};
  const since = status['lastPhaseTransitionTime'];
  if (status['phase'] === before['phase']) {
    if (since === undefined && before['lastPhaseTransitionTime'] !== undefined) {
      status['lastPhaseTransitionTime'] = before['lastPhaseTransitionTime'];
    }
  } else if (since === undefined || since === before['lastPhaseTransitionTime']) {
    status['lastPhaseTransitionTime'] = formatTime(context.receivedAt);
  }
}

const DEPRECATED_ANNOTATIONS: Readonly<Record<string, string>> = {
  [CLASS_ANNOTATION]: CLASS_DEPRECATED,
  'volume.beta.kubernetes.io/mount-options': 'deprecated since v1.31; use "mountOptions" attribute instead',
};

/** Kinds of volumes that no kubelet knows any more: since when they are deprecated, and when they went. */
const DEPRECATED_SOURCES: readonly (readonly [string, string, string])[] = [
  ['cephfs', 'v1.28', 'v1.31'],
  ['photonPersistentDisk', 'v1.11', 'v1.16'],
  ['scaleIO', 'v1.16', 'v1.22'],
  ['storageos', 'v1.22', 'v1.25'],
  ['glusterfs', 'v1.25', 'v1.26'],
  ['rbd', 'v1.28', 'v1.31'],
];

function warnings(object: KubeObject): string[] {
  const texts: string[] = [];
  for (const [key, text] of Object.entries(DEPRECATED_ANNOTATIONS)) {
    if (object.metadata.annotations?.[key] !== undefined) texts.push(`metadata.annotations[${key}]: ${text}`);
  }
  const spec = objectAt(object, 'spec') ?? {};
  if (spec['persistentVolumeReclaimPolicy'] === 'Recycle') {
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

export const persistentVolumeStrategy: Strategy = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  resetFields: resets(['status']),
  prepareForCreate: (context, object) => {
    object['status'] = { phase: 'Pending', lastPhaseTransitionTime: formatTime(context.receivedAt) };
  },
  prepareForUpdate: (_context, object, old) => {
    keepField('status', object, old);
  },
  validateCreate: (_context, object) => persistentVolumeErrors(object),
  // kube-apiserver looks at the whole twice, and says everything twice.
  validateUpdate: (_context, object, old) => [
    ...persistentVolumeErrors(object),
    ...persistentVolumeErrors(object),
    ...updateErrors(object, old),
  ],
  warningsOnCreate: (_context, object) => warnings(object),
  warningsOnUpdate: (_context, object) => warnings(object),
};

export const persistentVolumeStatusStrategy: Strategy = {
  ...persistentVolumeStrategy,
  resetFields: resets(['spec']),
  prepareForUpdate: (context, object, old) => {
    keepField('spec', object, old);
    stampTransition(context, object, old);
  },
  validateUpdate: (_context, object, old) => validateCoreMetaUpdate(object.metadata, old.metadata),
  warningsOnUpdate: () => [],
};
