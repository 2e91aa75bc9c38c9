import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../apimachinery/field-error.js';
import { type JsonObject, type JsonValue, objectAt } from '../../../apimachinery/json.js';
import { Quantity, QuantityError } from '../../../apimachinery/quantity.js';
import { textOf, textsOf } from './fields.js';

export const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
export const VOLUME_MODES = ['Block', 'Filesystem'];
/** The annotation that named a class before there was a field. */
export const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';
export const CLASS_DEPRECATED = 'deprecated since v1.8; use "storageClassName" attribute instead';

export function accessModeErrors(value: JsonValue | undefined, path: FieldPath, needed: string): FieldError[] {
  const modes = textsOf(value);
  if (modes.length === 0) return [required(path, needed)];
  const errors = modes
    .filter((mode) => !ACCESS_MODES.includes(mode))
    .map((mode) => notSupported(path, mode, ACCESS_MODES));
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
    errors.push(forbiddenMix(path));
  }
  return errors;
}

const forbiddenMix = (path: FieldPath): FieldError =>
  forbidden(path, 'may not use ReadWriteOncePod with other access modes');

/** A quantity of storage must be more than nothing. */
export function positiveQuantityErrors(value: JsonValue | undefined, path: FieldPath): FieldError[] {
  const text = typeof value === 'string' ? value : '0';
  try {
    return Quantity.parse(text).sign > 0 ? [] : [invalid(path, text, 'must be greater than zero')];
  } catch (error) {
    if (error instanceof QuantityError) return [invalid(path, text, error.message)];
    throw error;
  }
}

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

/** What the commonest kinds of volumes, which name a place, must say of it. */
export function volumeSourceErrors(volume: JsonObject, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const host = objectAt(volume, 'hostPath');
  if (host !== undefined) errors.push(...hostPathErrors(host, path.child('hostPath')));
  const nfs = objectAt(volume, 'nfs');
  if (nfs !== undefined) {
    const where = textOf(nfs['path']);
    if (textOf(nfs['server']) === '') errors.push(required(path.child('nfs').child('server')));
    if (where === '') errors.push(required(path.child('nfs').child('path')));
    if (!where.startsWith('/'))
      errors.push(invalid(path.child('nfs').child('path'), where, 'must be an absolute path'));
  }
  const map = objectAt(volume, 'configMap');
  if (map !== undefined && textOf(map['name']) === '') errors.push(required(path.child('configMap').child('name')));
  const secret = objectAt(volume, 'secret');
  if (secret !== undefined && textOf(secret['secretName']) === '')
    errors.push(required(path.child('secret').child('secretName')));
  return errors;
}

function hostPathErrors(host: JsonObject, path: FieldPath): FieldError[] {
  const where = textOf(host['path']);
  if (where === '') return [required(path.child('path'))];
  const errors = where.split('/').includes('..') ? [invalid(path.child('path'), where, "must not contain '..'")] : [];
  const type = textOf(host['type']);
  if (!HOST_PATH_TYPES.includes(type)) errors.push(notSupported(path.child('type'), type, HOST_PATH_TYPES));
  return errors;
}

const SHORT: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

/** Access modes as tables show them. */
export function shortAccessModes(value: JsonValue | undefined): string {
  const modes = new Set(textsOf(value));
  return Object.keys(SHORT)
    .filter((mode) => modes.has(mode))
    .map((mode) => SHORT[mode] ?? '')
    .join(',');
}
