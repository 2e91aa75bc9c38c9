import { type FieldError, type FieldPath, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import { labelErrors, subdomainErrors } from '../../../../apimachinery/validation/name-errors.js';
import type * as core from '../../../../apimachinery/generated/core.js';
import { backstepErrors, requiredOr } from '../../shared/checks.js';
import {
  both,
  type Check,
  COMMON,
  csiDriver,
  hasLongPortal,
  iscsiInitiatorErrors,
  iscsiTargetErrors,
  LONG_PORTAL,
  needs,
  secretNeeds,
  type Source,
  sourceErrors,
  storageosNames,
} from '../../shared/volume-sources.js';

const glusterfs: Check = (source: core.GlusterfsPersistentVolumeSource, path) => {
  const errors = needs('endpoints', 'path')(source, path);
  const namespace = source.endpointsNamespace;
  if (typeof namespace !== 'string') return errors;
  const at = path.child('endpointsNamespace');
  const why = 'if the endpointnamespace is set, it must be a valid namespace name';
  return [...errors, ...(namespace === '' ? [invalid(at, namespace, why)] : labelErrors(namespace, at))];
};

const azureFile: Check = (source: core.AzureFilePersistentVolumeSource, path) => {
  const errors = needs('secretName', 'shareName')(source, path);
  if (source.secretNamespace === '') errors.push(required(path.child('secretNamespace')));
  return errors;
};

const local: Check = (source: core.LocalVolumeSource, path) =>
  requiredOr(source.path ?? '', path.child('path'), backstepErrors);

const iscsi: Check = (source: core.ISCSIPersistentVolumeSource, path, volume) => [
  ...needs('targetPortal')(source, path),
  ...(hasLongPortal(source, volume)
    ? [invalid(path.child('targetportal'), source.targetPortal ?? '', LONG_PORTAL)]
    : []),
  ...iscsiTargetErrors(source, path),
  ...secretNeeds('name')(source, path, volume),
  ...iscsiInitiatorErrors(source, path),
];

const CSI_SECRETS = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
] as const;

const csi: Check = (source: core.CSIPersistentVolumeSource, path) => {
  const errors = [...csiDriver(source, path), ...needs('volumeHandle')(source, path)];
  for (const field of CSI_SECRETS) {
    const secret = source[field];
    if (secret === undefined) continue;
    errors.push(
      ...requiredOr(secret.name ?? '', path.child(field, 'name'), subdomainErrors),
      ...requiredOr(secret.namespace ?? '', path.child(field, 'namespace'), labelErrors),
    );
  }
  return errors;
};

const SOURCES: readonly Source[] = [
  COMMON.hostPath,
  COMMON.gcePersistentDisk,
  COMMON.awsElasticBlockStore,
  { field: 'glusterfs', check: glusterfs },
  COMMON.flocker,
  COMMON.nfs,
  COMMON.rbd,
  COMMON.quobyte,
  COMMON.cephfs,
  { field: 'iscsi', check: iscsi },
  { field: 'cinder', check: both(needs('volumeID'), secretNeeds('name', 'namespace')) },
  COMMON.fc,
  { ...COMMON.flexVolume, always: true },
  { field: 'azureFile', check: azureFile },
  COMMON.vsphereVolume,
  COMMON.photonPersistentDisk,
  COMMON.portworxVolume,
  COMMON.azureDisk,
  COMMON.scaleIO,
  { field: 'local', check: local },
  { field: 'storageos', check: both(storageosNames, secretNeeds('name', 'namespace')) },
  { field: 'csi', check: csi },
];

/** Validates the volume source of a spec: there must be exactly one. */
export const persistentSourceErrors = (
  spec: core.PersistentVolumeSpec,
  path: FieldPath,
  volume: string,
): FieldError[] =>
  sourceErrors(SOURCES, spec, path, volume, (field, _source, surplus) =>
    field === 'local' && !surplus && spec.nodeAffinity === undefined
      ? [required(path.child('nodeAffinity'), 'Local volume requires node affinity')]
      : [],
  );
