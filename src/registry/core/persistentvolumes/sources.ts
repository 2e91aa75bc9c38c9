import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
} from '../../../apimachinery/field-error.js';
import { type JsonObject, objectAt } from '../../../apimachinery/json.js';
import {
  inclusiveRangeError,
  isDns1123Label,
  isDns1123Subdomain,
  nameIsDnsLabel,
} from '../../../apimachinery/validation/names.js';
import { numberOf, textOf, textsOf } from '../shared/fields.js';
import { volumeSourceErrors } from '../shared/volumes.js';
import { iscsiErrors } from './iscsi.js';

/** What is wrong with one kind of volume. */
type Check = (source: JsonObject, path: FieldPath, volume: string) => FieldError[];

/** Requires the fields named. */
const needs =
  (...names: readonly string[]): Check =>
  (source, path) =>
    names.filter((name) => textOf(source[name]) === '').map((name) => required(path.child(name)));

const monitors: Check = (source, path) =>
  textsOf(source['monitors']).length === 0 ? [required(path.child('monitors'))] : [];

/** Both checks, one after the other. */
const both =
  (first: Check, second: Check): Check =>
  (source, path, volume) => [...first(source, path, volume), ...second(source, path, volume)];

const partition: Check = (source, path) => {
  const number = numberOf(source['partition']);
  return number < 0 || number > 255 ? [invalid(path.child('partition'), number, inclusiveRangeError(1, 255))] : [];
};

/** A secret with its namespace, if one is named. */
const secretOf: Check = (source, path) => {
  const secret = objectAt(source, 'secretRef');
  return secret === undefined ? [] : needs('name', 'namespace')(secret, path.child('secretRef'), '');
};

const labelErrors = (value: string, path: FieldPath): FieldError[] =>
  isDns1123Label(value).map((text) => invalid(path, value, text));

const glusterfs: Check = (source, path) => {
  const errors = needs('endpoints', 'path')(source, path, '');
  const namespace = source['endpointsNamespace'];
  if (typeof namespace !== 'string') return errors;
  const at = path.child('endpointsNamespace');
  const texts =
    namespace === ''
      ? ['if the endpointnamespace is set, it must be a valid namespace name']
      : nameIsDnsLabel(namespace, false);
  return [...errors, ...texts.map((text) => invalid(at, namespace, text))];
};

const flocker: Check = (source, path) => {
  const name = textOf(source['datasetName']);
  const uuid = textOf(source['datasetUUID']);
  const errors: FieldError[] = [];
  if (name === '' && uuid === '') errors.push(required(path, 'one of datasetName and datasetUUID is required'));
  if (name !== '' && uuid !== '') {
    errors.push(invalid(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'));
  }
  if (name.includes('/')) errors.push(invalid(path.child('datasetName'), name, "must not contain '/'"));
  return errors;
};

/** As Go's net.SplitHostPort takes it; the port may be anything, and empty. */
function isHostPort(text: string): boolean {
  const colon = text.lastIndexOf(':');
  if (colon < 0) return false;
  let open = 0;
  let closed = 0;
  if (text.startsWith('[')) {
    const end = text.indexOf(']');
    if (end < 0 || end + 1 !== colon) return false;
    open = 1;
    closed = end + 1;
  } else if (text.slice(0, colon).includes(':')) return false;
  return !text.includes('[', open) && !text.includes(']', closed);
}

const QUOBYTE_REGISTRY = 'must be a host:port pair or multiple pairs separated by commas';

/** Characters of values that are repeated in one answer. */
const MAX_REPEATED = 100_000;

const quobyte: Check = (source, path) => {
  const registry = textOf(source['registry']);
  const errors: FieldError[] = [];
  if (registry === '') errors.push(required(path.child('registry'), QUOBYTE_REGISTRY));
  else if (Buffer.byteLength(textOf(source['tenant'])) >= 65) {
    errors.push(required(path.child('tenant'), 'must be a UUID and may not exceed a length of 64 characters'));
  } else {
    // Each that is none says the same of the whole, as often as an answer of bearable length has room for it.
    const most = 1 + Math.floor(MAX_REPEATED / registry.length);
    const error = invalid(path.child('registry'), registry, QUOBYTE_REGISTRY);
    const wrong = registry.split(',').filter((pair) => !isHostPort(pair));
    errors.push(...wrong.slice(0, most).map(() => error));
  }
  return [...errors, ...needs('volume')(source, path, '')];
};

const fc: Check = (source, path) => {
  const targets = textsOf(source['targetWWNs']);
  const ids = textsOf(source['wwids']);
  const errors: FieldError[] = [];
  const at = path.child('targetWWNs');
  if (targets.length === 0 && ids.length === 0) {
    errors.push(required(at, 'must specify either targetWWNs or wwids, but not both'));
  }
  if (targets.length > 0 && ids.length > 0) {
    errors.push(invalid(at, targets, 'targetWWNs and wwids can not be specified simultaneously'));
  }
  if (targets.length > 0) {
    const lun = source['lun'];
    if (typeof lun !== 'number') {
      errors.push(required(path.child('lun'), 'lun is required if targetWWNs is specified'));
    } else if (lun < 0 || lun > 255) errors.push(invalid(path.child('lun'), lun, inclusiveRangeError(0, 255)));
  }
  return errors;
};

const flexVolume: Check = (source, path) => {
  const errors = needs('driver')(source, path, '');
  for (const key of Object.keys(objectAt(source, 'options') ?? {})) {
    const [namespace = ''] = key.split('/', 1);
    if (!/\.(kubernetes|k8s)\.io$/.test(`.${namespace.toLowerCase()}`)) continue;
    errors.push(invalid(path.child('options').key(key), key, 'kubernetes.io and k8s.io namespaces are reserved'));
  }
  return errors;
};

const azureFile: Check = (source, path) => {
  const errors = needs('secretName', 'shareName')(source, path, '');
  if (source['secretNamespace'] === '') errors.push(required(path.child('secretNamespace')));
  return errors;
};

const CACHING_MODES = ['None', 'ReadOnly', 'ReadWrite'];
const DISK_KINDS = ['Dedicated', 'Managed', 'Shared'];
const MANAGED_URI = '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}';
const BLOB_URI = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';

const azureDisk: Check = (source, path) => {
  const errors = needs('diskName', 'diskURI')(source, path, '');
  const caching = source['cachingMode'];
  if (typeof caching === 'string' && !CACHING_MODES.includes(caching)) {
    errors.push(notSupported(path.child('cachingMode'), caching, CACHING_MODES));
  }
  const kind = source['kind'];
  if (typeof kind !== 'string') return errors;
  if (!DISK_KINDS.includes(kind)) errors.push(notSupported(path.child('kind'), kind, DISK_KINDS));
  const uri = textOf(source['diskURI']);
  const [start, form] = kind === 'Managed' ? ['/subscriptions/', MANAGED_URI] : ['https://', BLOB_URI];
  if (!uri.startsWith(start)) errors.push(notSupported(path.child('diskURI'), uri, [form]));
  return errors;
};

const local: Check = (source, path) => {
  const where = textOf(source['path']);
  if (where === '') return [required(path.child('path'))];
  return where.split('/').includes('..') ? [invalid(path.child('path'), where, "must not contain '..'")] : [];
};

const storageos: Check = (source, path) => {
  const name = textOf(source['volumeName']);
  const namespace = textOf(source['volumeNamespace']);
  const errors = name === '' ? [required(path.child('volumeName'))] : labelErrors(name, path.child('volumeName'));
  if (namespace !== '') errors.push(...labelErrors(namespace, path.child('volumeNamespace')));
  return [...errors, ...secretOf(source, path, '')];
};

const CSI_SECRETS = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
];

const csi: Check = (source, path) => {
  const errors: FieldError[] = [];
  const driver = textOf(source['driver']);
  const at = path.child('driver');
  if (driver === '') errors.push(required(at));
  else {
    if (Buffer.byteLength(driver) > 63) errors.push(tooLong(at, 63));
    errors.push(...isDns1123Subdomain(driver.toLowerCase()).map((text) => invalid(at, driver, text)));
  }
  errors.push(...needs('volumeHandle')(source, path, ''));
  for (const field of CSI_SECRETS) {
    const secret = objectAt(source, field);
    if (secret === undefined) continue;
    const name = textOf(secret['name']);
    const namespace = textOf(secret['namespace']);
    const nameAt = path.child(field, 'name');
    const namespaceAt = path.child(field, 'namespace');
    if (name === '') errors.push(required(nameAt));
    else errors.push(...isDns1123Subdomain(name).map((text) => invalid(nameAt, name, text)));
    if (namespace === '') errors.push(required(namespaceAt));
    else errors.push(...labelErrors(namespace, namespaceAt));
  }
  return errors;
};

/** In the order in which kube-apiserver looks for them. Two have other names in what it says. */
const SOURCES: readonly (readonly [field: string, check: Check | 'shared', path?: string, extra?: string])[] = [
  ['hostPath', 'shared'],
  ['gcePersistentDisk', both(needs('pdName'), partition), 'persistentDisk'],
  ['awsElasticBlockStore', both(needs('volumeID'), partition)],
  ['glusterfs', glusterfs],
  ['flocker', flocker],
  ['nfs', 'shared'],
  ['rbd', both(monitors, needs('image'))],
  ['quobyte', quobyte],
  ['cephfs', monitors, 'cephfs', 'cephFS'],
  ['iscsi', iscsiErrors],
  ['cinder', both(needs('volumeID'), secretOf)],
  ['fc', fc],
  ['flexVolume', flexVolume],
  ['azureFile', azureFile],
  ['vsphereVolume', needs('volumePath')],
  ['photonPersistentDisk', needs('pdID')],
  ['portworxVolume', needs('volumeID')],
  ['azureDisk', azureDisk],
  ['scaleIO', needs('gateway', 'system', 'volumeName')],
  ['local', local],
  ['storageos', storageos],
  ['csi', csi],
];

/** What is wrong with the kind of volume that a specification names: there must be one, and no other. */
export function sourceErrors(spec: JsonObject, path: FieldPath, volume: string): FieldError[] {
  const errors: FieldError[] = [];
  let count = 0;
  for (const [field, check, shown = field, extra = field] of SOURCES) {
    const source = objectAt(spec, field);
    if (source === undefined) continue;
    // This one is looked at wherever it stands.
    if (count > 0 && field !== 'flexVolume') {
      errors.push(forbidden(path.child(extra), 'may not specify more than 1 volume type'));
      continue;
    }
    count++;
    if (check === 'shared') errors.push(...volumeSourceErrors({ [field]: source }, path));
    else errors.push(...check(source, path.child(shown), volume));
    if (field === 'local' && objectAt(spec, 'nodeAffinity') === undefined) {
      errors.push(required(path.child('nodeAffinity'), 'Local volume requires node affinity'));
    }
  }
  if (count === 0) errors.push(required(path, 'must specify a volume type'));
  return errors;
}
