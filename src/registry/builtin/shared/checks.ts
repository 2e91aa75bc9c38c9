import {
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  required,
} from '../../../apimachinery/meta/field-error.js';
import type { JsonObject, JsonValue } from '../../../apimachinery/json/json.js';
import { addressErrors } from '../../../apimachinery/validation/addresses.js';
import { qualifiedNameErrors } from '../../../apimachinery/validation/name-errors.js';
import { inclusiveRangeError, isPortName } from '../../../apimachinery/validation/names.js';
import { numberOf } from './fields.js';

const NOT_NEGATIVE = 'must be greater than or equal to 0';
export const MAX_INT32 = 2147483647;
const MAX_PORT = 65535;

/** A number, as large as int64 has them. */
export const integerOf = (value: JsonValue | undefined): number | bigint | undefined =>
  typeof value === 'number' || typeof value === 'bigint' ? value : undefined;

/** A value out of a list of values; required where it is empty. */
export function choice(value: string, path: FieldPath, values: readonly string[], detail = ''): FieldError[] {
  if (value === '') return [required(path, detail)];
  return values.includes(value) ? [] : [notSupported(path, value, values)];
}

/** A value out of a list of values, if there is one; the empty text is one, too. */
export const choiceIfSet = (value: JsonValue | undefined, path: FieldPath, values: readonly string[]): FieldError[] =>
  typeof value !== 'string' || values.includes(value) ? [] : [notSupported(path, value, values)];

export function notNegative(value: JsonValue | undefined, path: FieldPath): FieldError[] {
  const number = integerOf(value) ?? 0;
  return number < 0 ? [invalid(path, number, NOT_NEGATIVE)] : [];
}

/** A number between two others, which may be either of them. */
export const rangeErrors = (value: number | bigint, path: FieldPath, low: number, high: number): FieldError[] =>
  value >= low && value <= high ? [] : [invalid(path, value, inclusiveRangeError(low, high))];

/** Ids of users and groups. */
export function idErrors(value: JsonValue | undefined, path: FieldPath): FieldError[] {
  const id = integerOf(value);
  return id === undefined ? [] : rangeErrors(id, path, 0, MAX_INT32);
}

export const portNumberErrors = (port: number, path: FieldPath): FieldError[] => rangeErrors(port, path, 1, MAX_PORT);

/** The number or the name of a port. */
export function portErrors(port: JsonValue | undefined, path: FieldPath): FieldError[] {
  if (typeof port === 'string') return isPortName(port).map((text) => invalid(path, port, text));
  return portNumberErrors(numberOf(port), path);
}

/** Protocols of ports. */
export const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];

/** The protocol above that of the port, as a name with or without a domain. */
export function appProtocolErrors(port: JsonObject, path: FieldPath): FieldError[] {
  const name = port['appProtocol'];
  if (typeof name !== 'string') return [];
  return qualifiedNameErrors(name, path.child('appProtocol'));
}

/** An address of either family. */
export const ipErrors = (ip: string, path: FieldPath): FieldError[] =>
  addressErrors(ip).map((text) => invalid(path, ip, text));

/** The bits of a file's mode, if they are given. */
export function modeErrors(value: JsonValue | undefined, path: FieldPath): FieldError[] {
  if (typeof value !== 'number' || (value >= 0 && value <= 0o777)) return [];
  return [invalid(path, value, 'must be a number between 0 and 0777 (octal), both inclusive')];
}

export const backstepErrors = (where: string, path: FieldPath): FieldError[] =>
  where.split('/').includes('..') ? [invalid(path, where, "must not contain '..'")] : [];

/** A path that goes down from where it begins. */
export const descendingPathErrors = (where: string, path: FieldPath): FieldError[] => [
  ...(where.startsWith('/') ? [invalid(path, where, 'must be a relative path')] : []),
  ...backstepErrors(where, path),
];

/** A path of a file in a volume, where names with two dots first are the kubelet's own. */
export function filePathErrors(where: string, path: FieldPath): FieldError[] {
  const errors = descendingPathErrors(where, path);
  const reserved = where.startsWith('..') && !where.startsWith('../');
  return reserved ? [...errors, invalid(path, where, "must not start with '..'")] : errors;
}
