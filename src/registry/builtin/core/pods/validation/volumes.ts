import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  required,
} from '../../../../../apimachinery/meta/field-error.js';
import type * as core from '../../../../../apimachinery/generated/core.js';
import type { JsonObject } from '../../../../../apimachinery/json/json.js';
import { type ObjectMeta, quote } from '../../../../../apimachinery/meta/meta.js';
import { emptyMembersOf } from '../../../../../apimachinery/scheme/empty-members.js';
import { labelErrors, subdomainErrors } from '../../../../../apimachinery/validation/name-errors.js';
import { nameIsDnsSubdomain } from '../../../../../apimachinery/validation/names.js';
import { validateAnnotations, validateLabels } from '../../../../../apimachinery/validation/object-meta.js';
import { OBJECT_META_FIELDS } from '../../../../../schema/metadata.js';
import {
  choice,
  descendingPathErrors,
  filePathErrors,
  integerOf,
  itemErrors,
  modeErrors,
  requiredOr,
} from '../../../shared/checks.js';
import { claimSpecErrors } from '../../../shared/claim-spec.js';
import {
  both,
  type Check,
  COMMON,
  csiDriver,
  hasLongPortal,
  iscsiInitiatorErrors,
  iscsiTargetErrors,
  LONG_PORTAL,
  monitors,
  needs,
  secretNeeds,
  type Source,
  sourceErrors,
  storageosNames,
} from '../../../shared/volume-sources.js';
import { quantityOf } from '../../../shared/resources.js';
import { downwardFileErrors } from '../containers/field-refs.js';
import { PULL_POLICIES } from '../fields.js';
import { podCertificateErrors, trustBundleErrors } from './projections.js';

const PROJECTIONS = [
  'secret',
  'configMap',
  'downwardAPI',
  'serviceAccountToken',
  'clusterTrustBundle',
  'podCertificate',
] as const;
const CONFLICT = 'conflicting duplicate paths';

/** Validates the projection of a key of a Secret or ConfigMap to a file. */
function keyErrors(item: core.KeyToPath, path: FieldPath): FieldError[] {
  const errors = needs('key', 'path')(item, path);
  errors.push(...filePathErrors(item.path ?? '', path.child('path')));
  return [...errors, ...modeErrors(item.mode, path.child('mode'))];
}

/** Reports whether a path occurred before, and records it. The empty path is ignored. */
function taken(path: string, paths: Set<string>): boolean {
  if (path === '') return false;
  const had = paths.has(path);
  paths.add(path);
  return had;
}

function keysErrors(
  source: core.SecretProjection | core.ConfigMapProjection,
  at: FieldPath,
  whole: FieldPath,
  paths: Set<string>,
): FieldError[] {
  const name = source.name ?? '';
  const errors = name === '' ? [required(at.child('name'))] : [];
  const itemsErrors = itemErrors(source, 'items', at, (item, itemPath) => [
    ...keyErrors(item, itemPath),
    ...(taken(item.path ?? '', paths) ? [invalid(whole, name, CONFLICT)] : []),
  ]);
  return [...errors, ...itemsErrors];
}

function downwardErrors(
  source: core.DownwardAPIProjection,
  at: FieldPath,
  whole: FieldPath,
  paths: Set<string>,
): FieldError[] {
  return (source.items ?? []).flatMap((file) => {
    const errors = downwardFileErrors(file, at);
    const where = file.path ?? '';
    return taken(where, paths) ? [...errors, invalid(whole, where, CONFLICT)] : errors;
  });
}

function tokenErrors(source: core.ServiceAccountTokenProjection, at: FieldPath, whole: FieldPath): FieldError[] {
  const expires = integerOf(source.expirationSeconds) ?? 0;
  const path = at.child('expirationSeconds');
  const errors: FieldError[] = [];
  if (expires < 600) errors.push(invalid(path, expires, 'may not specify a duration less than 10 minutes'));
  if (expires > 2 ** 32) errors.push(invalid(path, expires, 'may not specify a duration larger than 2^32 seconds'));
  return [...errors, ...requiredOr(source.path ?? '', whole.child('path'), filePathErrors)];
}

/** Validates a projected volume. */
function projectedErrors(source: core.ProjectedVolumeSource, path: FieldPath): FieldError[] {
  const paths = new Set<string>();
  const sourcesErrors = itemErrors(source, 'sources', path, (one, at) => {
    const errors: FieldError[] = [];
    for (const name of ['secret', 'configMap'] as const) {
      const keys = one[name];
      if (keys !== undefined) errors.push(...keysErrors(keys, at.child(name), path, paths));
    }
    const downward = one.downwardAPI;
    if (downward !== undefined) errors.push(...downwardErrors(downward, at.child('downwardAPI'), path, paths));
    const token = one.serviceAccountToken;
    if (token !== undefined) errors.push(...tokenErrors(token, at.child('serviceAccountToken'), path));
    const bundle = one.clusterTrustBundle;
    if (bundle !== undefined) errors.push(...trustBundleErrors(bundle, at.child('clusterTrustBundle'), path, paths));
    const certificate = one.podCertificate;
    if (certificate !== undefined)
      errors.push(...podCertificateErrors(certificate, at.child('podCertificate'), path, paths));
    const count = PROJECTIONS.filter((name) => one[name] !== undefined).length;
    return count > 1 ? [...errors, forbidden(at, 'may not specify more than 1 volume type per source')] : errors;
  });
  return [...modeErrors(source.defaultMode, path.child('defaultMode')), ...sourcesErrors];
}

const emptyDir: Check = (source: core.EmptyDirVolumeSource, path) => {
  if (quantityOf(source.sizeLimit).sign >= 0) return [];
  return [forbidden(path.child('sizeLimit'), 'SizeLimit field must be a valid resource quantity')];
};

const gitRepo: Check = (source: core.GitRepoVolumeSource, path) => [
  ...needs('repository')(source, path),
  ...descendingPathErrors(source.directory ?? '', path.child('directory')),
];

const files =
  (name: string): Check =>
  (source: core.SecretVolumeSource | core.ConfigMapVolumeSource, path) => [
    ...needs(name)(source, path),
    ...modeErrors(source.defaultMode, path.child('defaultMode')),
    ...itemErrors(source, 'items', path, keyErrors),
  ];

const FORM = 'must be valid format starting with iqn, eui, or naa';

const iscsi: Check = (source: core.ISCSIVolumeSource, path) => [
  ...needs('targetPortal')(source, path),
  ...iscsiTargetErrors(source, path, FORM),
  ...iscsiInitiatorErrors(source, path, FORM),
];

const downwardApi: Check = (source: core.DownwardAPIVolumeSource, path) => [
  ...modeErrors(source.defaultMode, path.child('defaultMode')),
  // kube-apiserver reports the list, not the item.
  ...(source.items ?? []).flatMap((file) => downwardFileErrors(file, path)),
];

const csi: Check = (source: core.CSIVolumeSource, path) => {
  const errors = csiDriver(source, path);
  const secret = source.nodePublishSecretRef;
  if (secret === undefined) return errors;
  const name = secret.name ?? '';
  if (name === '') return [...errors, required(path.child('nodePublishSecretRef', 'name'))];
  return [...errors, ...subdomainErrors(name, path.child('name'))];
};

/** The metadata fields that a claim template may not set: only labels and annotations are used. */
const UNUSED_METADATA = OBJECT_META_FIELDS.filter((name) => name !== 'labels' && name !== 'annotations');

function templateMetaErrors(meta: ObjectMeta, path: FieldPath): FieldError[] {
  const set = UNUSED_METADATA.filter((name) => {
    const value = meta[name] ?? emptyMembersOf(meta)?.[name] ?? null;
    return value !== null && value !== '' && (value !== 0 || name === 'deletionGracePeriodSeconds');
  });
  return [
    ...validateAnnotations(meta.annotations, path.child('annotations')),
    ...validateLabels(meta.labels, path.child('labels')),
    ...set.map((name) => forbidden(path.child(name === 'uid' ? 'uID' : name), 'cannot be set')),
  ];
}

const ephemeral: Check = (source: core.EphemeralVolumeSource, path) => {
  const at = path.child('volumeClaimTemplate');
  const template = source.volumeClaimTemplate;
  if (template === undefined) return [required(at)];
  return [
    ...templateMetaErrors(template.metadata ?? {}, at.child('metadata')),
    ...claimSpecErrors(template.spec ?? {}, at.child('spec')),
  ];
};

const image: Check = (source: core.ImageVolumeSource, path) => [
  ...needs('reference')(source, path),
  ...choice(source.pullPolicy ?? '', path.child('pullPolicy'), PULL_POLICIES),
];

const SOURCES: readonly Source[] = [
  { field: 'emptyDir', check: emptyDir },
  COMMON.hostPath,
  { field: 'gitRepo', check: gitRepo },
  COMMON.gcePersistentDisk,
  COMMON.awsElasticBlockStore,
  { field: 'secret', check: files('secretName') },
  COMMON.nfs,
  { field: 'iscsi', check: iscsi },
  { field: 'glusterfs', check: needs('endpoints', 'path') },
  COMMON.flocker,
  { field: 'persistentVolumeClaim', check: needs('claimName') },
  COMMON.rbd,
  { field: 'cinder', check: both(needs('volumeID'), secretNeeds('name')) },
  { field: 'cephfs', check: monitors, extra: 'cephFS' },
  COMMON.quobyte,
  { field: 'downwardAPI', check: downwardApi, extra: 'downwarAPI' },
  COMMON.fc,
  COMMON.flexVolume,
  { field: 'configMap', check: files('name') },
  { field: 'azureFile', check: needs('secretName', 'shareName') },
  COMMON.vsphereVolume,
  COMMON.photonPersistentDisk,
  COMMON.portworxVolume,
  COMMON.azureDisk,
  { field: 'storageos', check: both(storageosNames, secretNeeds('name')) },
  { field: 'projected', check: projectedErrors },
  COMMON.scaleIO,
  { field: 'csi', check: csi },
  { field: 'ephemeral', check: ephemeral },
  { field: 'image', check: image },
];

function afterSource(field: string, source: JsonObject, volume: string, pod: string, path: FieldPath): FieldError[] {
  if (field === 'iscsi' && hasLongPortal(source, volume)) return [invalid(path.child('name'), volume, LONG_PORTAL)];
  if (field !== 'ephemeral' || pod === '' || volume === '') return [];
  const claim = `${pod}-${volume}`;
  return nameIsDnsSubdomain(claim).map((text) =>
    invalid(path.child('name'), volume, `PVC name ${quote(claim)}: ${text}`),
  );
}

/** Validates the volumes of a pod. Also returns the valid ones by name. */
export function volumeErrors(
  pod: core.Pod,
  volumes: readonly core.Volume[],
  path: FieldPath,
): readonly [errors: FieldError[], sound: ReadonlyMap<string, core.Volume>] {
  const podName = pod.metadata.name ?? '';
  const made = new Set(
    volumes.filter((one) => one.ephemeral !== undefined).map((one) => `${podName}-${one.name ?? ''}`),
  );
  const errors: FieldError[] = [];
  const sound = new Map<string, core.Volume>();
  volumes.forEach((volume, i) => {
    const at = path.index(i);
    const name = volume.name ?? '';
    const found = sourceErrors(SOURCES, volume, at, name, (field, source) =>
      afterSource(field, source, name, podName, at),
    );
    found.push(...requiredOr(name, at.child('name'), labelErrors));
    if (sound.has(name)) found.push(duplicate(at.child('name'), name));
    if (found.length === 0) sound.set(name, volume);
    errors.push(...found);
    const claim = volume.persistentVolumeClaim?.claimName ?? '';
    if (podName !== '' && made.has(claim)) {
      const why = 'must not reference a PVC that gets created for an ephemeral volume';
      errors.push(invalid(at.child('persistentVolumeClaim', 'claimName'), claim, why));
    }
  });
  return [errors, sound];
}
