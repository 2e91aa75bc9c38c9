import { type FieldError, type FieldPath, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt } from '../../../../apimachinery/json/json.js';
import { textOf } from '../../../../apimachinery/json/values.js';
import { labelErrors, subdomainErrors } from '../../../../apimachinery/validation/name-errors.js';
import { backstepErrors } from '../../shared/checks.js';
import {
  both,
  type Check,
  COMMON,
  csiDriver,
  needs,
  type Source,
  sourceErrors,
  storageosNames,
} from '../../shared/volume-sources.js';
import { iscsiErrors } from './iscsi.js';

/** Validates the secret of a volume, if any: it needs a name and a namespace. */
const secretOf: Check = (source, path) => {
  const secret = objectAt(source, 'secretRef');
  return secret === undefined ? [] : needs('name', 'namespace')(secret, path.child('secretRef'), '');
};

const glusterfs: Check = (source, path) => {
  const errors = needs('endpoints', 'path')(source, path, '');
  const namespace = source['endpointsNamespace'];
  if (typeof namespace !== 'string') return errors;
  const at = path.child('endpointsNamespace');
  const why = 'if the endpointnamespace is set, it must be a valid namespace name';
  return [...errors, ...(namespace === '' ? [invalid(at, namespace, why)] : labelErrors(namespace, at))];
};

const azureFile: Check = (source, path) => {
  const errors = needs('secretName', 'shareName')(source, path, '');
  if (source['secretNamespace'] === '') errors.push(required(path.child('secretNamespace')));
  return errors;
};

const local: Check = (source, path) => {
  const where = textOf(source['path']);
  return where === '' ? [required(path.child('path'))] : backstepErrors(where, path.child('path'));
};

const CSI_SECRETS = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
];

const csi: Check = (source, path) => {
  const errors = both(csiDriver, needs('volumeHandle'))(source, path, '');
  for (const field of CSI_SECRETS) {
    const secret = objectAt(source, field);
    if (secret === undefined) continue;
    const name = textOf(secret['name']);
    const namespace = textOf(secret['namespace']);
    const nameAt = path.child(field, 'name');
    const namespaceAt = path.child(field, 'namespace');
    if (name === '') errors.push(required(nameAt));
    else errors.push(...subdomainErrors(name, nameAt));
    if (namespace === '') errors.push(required(namespaceAt));
    else errors.push(...labelErrors(namespace, namespaceAt));
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
  { field: 'iscsi', check: iscsiErrors },
  { field: 'cinder', check: both(needs('volumeID'), secretOf) },
  COMMON.fc,
  { ...COMMON.flexVolume, always: true },
  { field: 'azureFile', check: azureFile },
  COMMON.vsphereVolume,
  COMMON.photonPersistentDisk,
  COMMON.portworxVolume,
  COMMON.azureDisk,
  COMMON.scaleIO,
  { field: 'local', check: local },
  { field: 'storageos', check: both(storageosNames, secretOf) },
  { field: 'csi', check: csi },
];

/** Validates the volume source of a spec: there must be exactly one. */
export const persistentSourceErrors = (spec: JsonObject, path: FieldPath, volume: string): FieldError[] =>
  sourceErrors(SOURCES, spec, path, volume, (field, _source, surplus) =>
    field === 'local' && !surplus && objectAt(spec, 'nodeAffinity') === undefined
      ? [required(path.child('nodeAffinity'), 'Local volume requires node affinity')]
      : [],
  );
