import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../apimachinery/field-error.js';
import type { JsonValue } from '../../../apimachinery/json.js';
import { Quantity, QuantityError } from '../../../apimachinery/quantity.js';
import { textsOf } from './fields.js';

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
