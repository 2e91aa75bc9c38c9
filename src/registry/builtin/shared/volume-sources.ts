import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
} from '../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt, textAt } from '../../../apimachinery/json/json.js';
import { labelErrors } from '../../../apimachinery/validation/name-errors.js';
import { inclusiveRangeError, isDns1123Subdomain } from '../../../apimachinery/validation/names.js';
import type * as core from '../../../apimachinery/generated/core.js';
import { backstepErrors, choiceIfSet, rangeErrors, requiredOr } from './checks.js';
import { numberOf } from './fields.js';
import { patternFor } from '@annex/cel/re2';

/** Validates a volume source. `volume` is the name of the volume. */
export type Check = (source: JsonObject, path: FieldPath, volume: string) => FieldError[];

/** Requires the named fields. */
export const needs =
  (...names: readonly string[]) =>
  (source: JsonObject, path: FieldPath): FieldError[] =>
    names.filter((name) => textAt(source, name) === '').map((name) => required(path.child(name)));

/** Requires the named fields of the volume's secret, if it has one. */
export const secretNeeds =
  (...names: readonly string[]): Check =>
  (source, path) => {
    const secret = objectAt(source, 'secretRef');
    return secret === undefined ? [] : needs(...names)(secret, path.child('secretRef'));
  };

export const monitors: Check = (source: core.CephFSVolumeSource | core.RBDVolumeSource, path) =>
  (source.monitors ?? []).length === 0 ? [required(path.child('monitors'))] : [];

/** Runs both checks, one after the other. */
export const both =
  (first: Check, second: Check): Check =>
  (source, path, volume) => [...first(source, path, volume), ...second(source, path, volume)];

const partition: Check = (source: core.AWSElasticBlockStoreVolumeSource, path) => {
  const number = numberOf(source.partition);
  return number < 0 || number > 255 ? [invalid(path.child('partition'), number, inclusiveRangeError(1, 255))] : [];
};

const flocker: Check = (source: core.FlockerVolumeSource, path) => {
  const name = source.datasetName ?? '';
  const uuid = source.datasetUUID ?? '';
  const errors: FieldError[] = [];
  if (name === '' && uuid === '') errors.push(required(path, 'one of datasetName and datasetUUID is required'));
  if (name !== '' && uuid !== '') {
    errors.push(invalid(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'));
  }
  if (name.includes('/')) errors.push(invalid(path.child('datasetName'), name, "must not contain '/'"));
  return errors;
};

/** Reports whether Go's net.SplitHostPort accepts the text. The port may be anything, even empty. */
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

/** The maximum number of characters of values that are repeated in one response. */
const MAX_REPEATED = 100_000;

const quobyte: Check = (source: core.QuobyteVolumeSource, path) => {
  const registry = source.registry ?? '';
  const errors: FieldError[] = [];
  if (registry === '') errors.push(required(path.child('registry'), QUOBYTE_REGISTRY));
  else if (Buffer.byteLength(source.tenant ?? '') >= 65) {
    errors.push(required(path.child('tenant'), 'must be a UUID and may not exceed a length of 64 characters'));
  } else {
    // Each invalid pair yields the same error about the whole value. Their number is limited to keep the response short.
    const most = 1 + Math.floor(MAX_REPEATED / registry.length);
    const error = invalid(path.child('registry'), registry, QUOBYTE_REGISTRY);
    const wrong = registry.split(',').filter((pair) => !isHostPort(pair));
    errors.push(...wrong.slice(0, most).map(() => error));
  }
  return [...errors, ...needs('volume')(source, path)];
};

/** Validates a logical unit number (LUN). */
const lunErrors = (lun: number, path: FieldPath): FieldError[] => rangeErrors(lun, path.child('lun'), 0, 255);

/** The forms by the first three characters of a name. Only `iqn` may follow other characters; its search must not take quadratic time. */
const NAME_FORMS: Readonly<Record<string, string>> = {
  iqn: 'iqn\\.\\d{4}-\\d{2}\\.([[:alnum:]\\-.]+)(:[^,;*&$|\\s]+)$',
  eui: '^eui.[[:alnum:]]{16}$',
  naa: '^naa.[[:alnum:]]{32}$',
};

const WRONG = 'must be valid format';

export const LONG_PORTAL =
  'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';

/** Reports whether the names of a volume with an initiator and of its portal are too long together. */
export const hasLongPortal = (source: core.ISCSIVolumeSource, volume: string): boolean =>
  typeof source.initiatorName === 'string' && Buffer.byteLength(`${volume}:${source.targetPortal ?? ''}`) > 64;

/** Validates the name of an iSCSI target or initiator. `unknown` is the error for a name with an unknown prefix. */
function iscsiNameErrors(name: string, path: FieldPath, unknown = WRONG): FieldError[] {
  const form = NAME_FORMS[name.slice(0, 3)];
  if (form === undefined) return [invalid(path, name, unknown)];
  return patternFor(form).matches(name) ? [] : [invalid(path, name, WRONG)];
}

/** Validates the target of an iSCSI volume. `unknown` is the error for a name with an unknown prefix. */
export function iscsiTargetErrors(source: core.ISCSIVolumeSource, path: FieldPath, unknown?: string): FieldError[] {
  const chap = source.chapAuthDiscovery === true || source.chapAuthSession === true;
  return [
    ...requiredOr(source.iqn ?? '', path.child('iqn'), (name, at) => iscsiNameErrors(name, at, unknown)),
    ...lunErrors(numberOf(source.lun), path),
    ...(chap && source.secretRef === undefined ? [required(path.child('secretRef'))] : []),
  ];
}

/** Validates the initiator of an iSCSI volume, if it names one. */
export function iscsiInitiatorErrors(source: core.ISCSIVolumeSource, path: FieldPath, unknown?: string): FieldError[] {
  const name = source.initiatorName;
  return typeof name === 'string' ? iscsiNameErrors(name, path.child('initiatorname'), unknown) : [];
}

const fc: Check = (source: core.FCVolumeSource, path) => {
  const targets = source.targetWWNs ?? [];
  const ids = source.wwids ?? [];
  const errors: FieldError[] = [];
  const at = path.child('targetWWNs');
  if (targets.length === 0 && ids.length === 0) {
    errors.push(required(at, 'must specify either targetWWNs or wwids, but not both'));
  }
  if (targets.length > 0 && ids.length > 0) {
    errors.push(invalid(at, targets, 'targetWWNs and wwids can not be specified simultaneously'));
  }
  if (targets.length > 0) {
    const lun = source.lun;
    if (typeof lun !== 'number') {
      errors.push(required(path.child('lun'), 'lun is required if targetWWNs is specified'));
    } else errors.push(...lunErrors(lun, path));
  }
  return errors;
};

const flexVolume: Check = (source: core.FlexVolumeSource, path) => {
  const errors = needs('driver')(source, path);
  for (const key of Object.keys(source.options ?? {})) {
    const [namespace = ''] = key.split('/', 1);
    if (!/\.(kubernetes|k8s)\.io$/.test(`.${namespace.toLowerCase()}`)) continue;
    errors.push(invalid(path.child('options').key(key), key, 'kubernetes.io and k8s.io namespaces are reserved'));
  }
  return errors;
};

const CACHING_MODES = ['None', 'ReadOnly', 'ReadWrite'];
const DISK_KINDS = ['Dedicated', 'Managed', 'Shared'];
const MANAGED_URI = '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}';
const BLOB_URI = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';

const azureDisk: Check = (source: core.AzureDiskVolumeSource, path) => {
  const errors = needs('diskName', 'diskURI')(source, path);
  const kind = source.kind;
  errors.push(...choiceIfSet(source.cachingMode, path.child('cachingMode'), CACHING_MODES));
  errors.push(...choiceIfSet(kind, path.child('kind'), DISK_KINDS));
  if (typeof kind !== 'string') return errors;
  const uri = source.diskURI ?? '';
  const [start, form] = kind === 'Managed' ? ['/subscriptions/', MANAGED_URI] : ['https://', BLOB_URI];
  if (!uri.startsWith(start)) errors.push(notSupported(path.child('diskURI'), uri, [form]));
  return errors;
};

const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

const hostPath: Check = (source: core.HostPathVolumeSource, path) => {
  const where = source.path ?? '';
  if (where === '') return [required(path.child('path'))];
  const errors = backstepErrors(where, path.child('path'));
  return [...errors, ...choiceIfSet(source.type, path.child('type'), HOST_PATH_TYPES)];
};

const nfs: Check = (source: core.NFSVolumeSource, path) => {
  const errors = needs('server', 'path')(source, path);
  const where = source.path ?? '';
  if (!where.startsWith('/')) errors.push(invalid(path.child('path'), where, 'must be an absolute path'));
  return errors;
};

export const storageosNames: Check = (source: core.StorageOSVolumeSource, path) => {
  const namespace = source.volumeNamespace ?? '';
  const errors = requiredOr(source.volumeName ?? '', path.child('volumeName'), labelErrors);
  return namespace === '' ? errors : [...errors, ...labelErrors(namespace, path.child('volumeNamespace'))];
};

export const csiDriver = (source: core.CSIVolumeSource, path: FieldPath): FieldError[] =>
  requiredOr(source.driver ?? '', path.child('driver'), (driver, at) => [
    ...(Buffer.byteLength(driver) > 63 ? [tooLong(at, 63)] : []),
    ...isDns1123Subdomain(driver.toLowerCase()).map((text) => invalid(at, driver, text)),
  ]);

/** A volume source, in the order of kube-apiserver's checks. Some have other names in errors. */
export interface Source {
  readonly field: string;
  readonly check: Check;
  /** `shown` is the name in errors about the source, `extra` in the error about more than one source. */
  readonly shown?: string;
  readonly extra?: string;
  /** True if the source is checked even if another one precedes it. */
  readonly always?: boolean;
}

/** The volume sources that pods and persistent volumes have in common. */
export const COMMON = {
  hostPath: { field: 'hostPath', check: hostPath },
  gcePersistentDisk: {
    field: 'gcePersistentDisk',
    check: both(needs('pdName'), partition),
    shown: 'persistentDisk',
  },
  awsElasticBlockStore: { field: 'awsElasticBlockStore', check: both(needs('volumeID'), partition) },
  flocker: { field: 'flocker', check: flocker },
  nfs: { field: 'nfs', check: nfs },
  rbd: { field: 'rbd', check: both(monitors, needs('image')) },
  quobyte: { field: 'quobyte', check: quobyte },
  cephfs: { field: 'cephfs', check: monitors, extra: 'cephFS' },
  fc: { field: 'fc', check: fc },
  flexVolume: { field: 'flexVolume', check: flexVolume },
  vsphereVolume: { field: 'vsphereVolume', check: needs('volumePath') },
  photonPersistentDisk: { field: 'photonPersistentDisk', check: needs('pdID') },
  portworxVolume: { field: 'portworxVolume', check: needs('volumeID') },
  azureDisk: { field: 'azureDisk', check: azureDisk },
  scaleIO: { field: 'scaleIO', check: needs('gateway', 'system', 'volumeName') },
} satisfies Record<string, Source>;

/** Validates the volume source: there must be exactly one. `after` returns further errors for each source that is set. */
export function sourceErrors(
  sources: readonly Source[],
  holder: core.PersistentVolumeSpec | core.Volume,
  path: FieldPath,
  volume: string,
  after?: (field: string, source: JsonObject, surplus: boolean) => readonly FieldError[],
): FieldError[] {
  const errors: FieldError[] = [];
  let count = 0;
  for (const { field, check, shown = field, extra = field, always } of sources) {
    const source = objectAt(holder, field);
    if (source === undefined) continue;
    const surplus = count > 0 && always !== true;
    if (surplus) errors.push(forbidden(path.child(extra), 'may not specify more than 1 volume type'));
    else {
      count++;
      errors.push(...check(source, path.child(shown), volume));
    }
    if (after !== undefined) errors.push(...after(field, source, surplus));
  }
  return count === 0 ? [...errors, required(path, 'must specify a volume type')] : errors;
}

const AZURE_DISK: readonly (readonly [string, string | boolean])[] = [
  ['cachingMode', 'ReadWrite'],
  ['fsType', 'ext4'],
  ['readOnly', false],
  ['kind', 'Shared'],
];

/** Sets the defaults of the volume sources that pods and persistent volumes have in common. `holder` is the volume or spec with the source. */
export function defaultSources(holder: core.PersistentVolumeSpec | core.Volume): void {
  const iscsi = holder.iscsi;
  if (iscsi !== undefined) iscsi.iscsiInterface ||= 'default';
  const rbd = holder.rbd;
  if (rbd !== undefined) {
    rbd.pool ||= 'rbd';
    rbd.user ||= 'admin';
    rbd.keyring ||= '/etc/ceph/keyring';
  }
  const disk = holder.azureDisk;
  if (disk !== undefined) for (const [field, value] of AZURE_DISK) disk[field] ??= value;
  const scale = holder.scaleIO;
  if (scale !== undefined) {
    scale.storageMode ||= 'ThinProvisioned';
    scale.fsType ||= 'xfs';
  }
}
