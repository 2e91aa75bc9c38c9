import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../apimachinery/meta/field-error.js';
import { type JsonValue, stringsOf } from '../../../apimachinery/json/json.js';
import { Quantity, QuantityError } from '../../../apimachinery/meta/quantity.js';

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
export const VOLUME_MODES = ['Block', 'Filesystem'];
/** The annotation that named the storage class before there was a field. */
export const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';
export const CLASS_DEPRECATED = 'deprecated since v1.8; use "storageClassName" attribute instead';

/** Validates access modes. `between` returns the errors to report after the one for missing modes. */
export function accessModeErrors(
  value: JsonValue | undefined,
  path: FieldPath,
  needed: string,
  between: () => readonly FieldError[] = () => [],
): FieldError[] {
  const modes = stringsOf(value);
  const errors = modes.length === 0 ? [required(path, needed)] : [];
  errors.push(...between());
  const unknown = modes.filter((mode) => !ACCESS_MODES.includes(mode));
  errors.push(...unknown.map((mode) => notSupported(path, mode, ACCESS_MODES)));
  const others = modes.filter((mode) => mode !== 'ReadWriteOncePod').length - unknown.length;
  if (modes.includes('ReadWriteOncePod') && others > 0) {
    errors.push(forbidden(path, 'may not use ReadWriteOncePod with other access modes'));
  }
  return errors;
}

/** Requires a storage quantity to be greater than zero. */
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

/** Formats access modes as tables show them. */
export function shortAccessModes(value: JsonValue | undefined): string {
  const modes = new Set(stringsOf(value));
  return Object.keys(SHORT)
    .filter((mode) => modes.has(mode))
    .map((mode) => SHORT[mode] ?? '')
    .join(',');
}
