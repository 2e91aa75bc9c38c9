import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  required,
} from '../../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt } from '../../../../../apimachinery/json/json.js';
import { objectsOf, textOf } from '../../../../../apimachinery/json/values.js';
import { type KubeObject, quote } from '../../../../../apimachinery/meta/meta.js';
import { emptyMembersOf } from '../../../../../apimachinery/scheme/empty-members.js';
import { labelErrors, subdomainErrors } from '../../../../../apimachinery/validation/name-errors.js';
import { nameIsDnsSubdomain } from '../../../../../apimachinery/validation/names.js';
import { validateAnnotations, validateLabels } from '../../../../../apimachinery/validation/object-meta.js';
import { OBJECT_META_FIELDS } from '../../../../../schema/metadata.js';
import { choice, descendingPathErrors, modeErrors } from '../../../shared/checks.js';
import { claimSpecErrors } from '../../../shared/claim-spec.js';
import { numberOf } from '../../../shared/fields.js';
import { iscsiNameErrors } from '../../../shared/iscsi-names.js';
import { quantityOf } from '../../../shared/resources.js';
import {
  both,
  type Check,
  COMMON,
  csiDriver,
  lunErrors,
  monitors,
  needs,
  type Source,
  sourceErrors,
  storageosNames,
} from '../../../shared/volume-sources.js';
import { downwardFileErrors } from '../containers/field-refs.js';
import { PULL_POLICIES } from '../fields.js';
import { keyErrors, projectedErrors } from './projected.js';

const emptyDir: Check = (source, path) => {
  if (quantityOf(source['sizeLimit']).sign >= 0) return [];
  return [forbidden(path.child('sizeLimit'), 'SizeLimit field must be a valid resource quantity')];
};

const gitRepo: Check = (source, path) => [
  ...needs('repository')(source, path, ''),
  ...descendingPathErrors(textOf(source['directory']), path.child('directory')),
];

const files =
  (name: string): Check =>
  (source, path) => [
    ...needs(name)(source, path, ''),
    ...modeErrors(source['defaultMode'], path.child('defaultMode')),
    ...objectsOf(source['items']).flatMap((item, i) => keyErrors(item, path.child('items').index(i))),
  ];

const FORM = 'must be valid format starting with iqn, eui, or naa';

const iscsi: Check = (source, path) => {
  const errors = needs('targetPortal', 'iqn')(source, path, '');
  const name = textOf(source['iqn']);
  if (name !== '') errors.push(...iscsiNameErrors(name, path.child('iqn'), FORM));
  errors.push(...lunErrors(numberOf(source['lun']), path));
  const chap = source['chapAuthDiscovery'] === true || source['chapAuthSession'] === true;
  if (chap && objectAt(source, 'secretRef') === undefined) errors.push(required(path.child('secretRef')));
  const initiator = source['initiatorName'];
  return typeof initiator === 'string'
    ? [...errors, ...iscsiNameErrors(initiator, path.child('initiatorname'), FORM)]
    : errors;
};

/** Validates the secret of a volume, if any, which is in the pod's namespace. */
const secretOf: Check = (source, path) => {
  const secret = objectAt(source, 'secretRef');
  return secret === undefined ? [] : needs('name')(secret, path.child('secretRef'), '');
};

const downwardApi: Check = (source, path) => [
  ...modeErrors(source['defaultMode'], path.child('defaultMode')),
  // kube-apiserver reports the list, not the item.
  ...objectsOf(source['items']).flatMap((file) => downwardFileErrors(file, path)),
];

const csi: Check = (source, path) => {
  const errors = csiDriver(source, path, '');
  const secret = objectAt(source, 'nodePublishSecretRef');
  if (secret === undefined) return errors;
  const name = textOf(secret['name']);
  if (name === '') return [...errors, required(path.child('nodePublishSecretRef', 'name'))];
  return [...errors, ...subdomainErrors(name, path.child('name'))];
};

/** The metadata fields that a claim template may not set: only labels and annotations are used. */
const UNUSED_METADATA = OBJECT_META_FIELDS.filter((name) => name !== 'labels' && name !== 'annotations');

function templateMetaErrors(meta: JsonObject, path: FieldPath): FieldError[] {
  const texts = (name: string): Record<string, string> | undefined =>
    objectAt(meta, name) as Record<string, string> | undefined;
  const set = UNUSED_METADATA.filter((name) => {
    const value = meta[name] ?? emptyMembersOf(meta)?.[name] ?? null;
    return value !== null && value !== '' && (value !== 0 || name === 'deletionGracePeriodSeconds');
  });
  return [
    ...validateAnnotations(texts('annotations'), path.child('annotations')),
    ...validateLabels(texts('labels'), path.child('labels')),
    ...set.map((name) => forbidden(path.child(name === 'uid' ? 'uID' : name), 'cannot be set')),
  ];
}

const ephemeral: Check = (source, path) => {
  const at = path.child('volumeClaimTemplate');
  const template = objectAt(source, 'volumeClaimTemplate');
  if (template === undefined) return [required(at)];
  return [
    ...templateMetaErrors(objectAt(template, 'metadata') ?? {}, at.child('metadata')),
    ...claimSpecErrors(objectAt(template, 'spec') ?? {}, at.child('spec')),
  ];
};

const image: Check = (source, path) => [
  ...needs('reference')(source, path, ''),
  ...choice(textOf(source['pullPolicy']), path.child('pullPolicy'), PULL_POLICIES),
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
  { field: 'cinder', check: both(needs('volumeID'), secretOf) },
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
  { field: 'storageos', check: both(storageosNames, secretOf) },
  { field: 'projected', check: projectedErrors },
  COMMON.scaleIO,
  { field: 'csi', check: csi },
  { field: 'ephemeral', check: ephemeral },
  { field: 'image', check: image },
];

function afterSource(field: string, source: JsonObject, volume: string, pod: string, path: FieldPath): FieldError[] {
  if (field === 'iscsi' && typeof source['initiatorName'] === 'string') {
    if (Buffer.byteLength(`${volume}:${textOf(source['targetPortal'])}`) <= 64) return [];
    const why =
      'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';
    return [invalid(path.child('name'), volume, why)];
  }
  if (field !== 'ephemeral' || pod === '' || volume === '') return [];
  const claim = `${pod}-${volume}`;
  return nameIsDnsSubdomain(claim).map((text) =>
    invalid(path.child('name'), volume, `PVC name ${quote(claim)}: ${text}`),
  );
}

/** Validates the volumes of a pod. Also returns the valid ones by name. */
export function volumeErrors(
  pod: KubeObject,
  volumes: readonly JsonObject[],
  path: FieldPath,
): readonly [errors: FieldError[], sound: ReadonlyMap<string, JsonObject>] {
  const podName = pod.metadata.name ?? '';
  const made = new Set(
    volumes.filter((one) => objectAt(one, 'ephemeral') !== undefined).map((one) => `${podName}-${textOf(one['name'])}`),
  );
  const errors: FieldError[] = [];
  const sound = new Map<string, JsonObject>();
  volumes.forEach((volume, i) => {
    const at = path.index(i);
    const name = textOf(volume['name']);
    const found = sourceErrors(SOURCES, volume, at, name, (field, source) =>
      afterSource(field, source, name, podName, at),
    );
    found.push(...(name === '' ? [required(at.child('name'))] : labelErrors(name, at.child('name'))));
    if (sound.has(name)) found.push(duplicate(at.child('name'), name));
    if (found.length === 0) sound.set(name, volume);
    errors.push(...found);
    const claim = textOf(objectAt(volume, 'persistentVolumeClaim')?.['claimName']);
    if (podName !== '' && made.has(claim)) {
      const why = 'must not reference a PVC that gets created for an ephemeral volume';
      errors.push(invalid(at.child('persistentVolumeClaim', 'claimName'), claim, why));
    }
  });
  return [errors, sound];
}
