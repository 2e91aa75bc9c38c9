import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  type Printed,
  required,
} from '../../../apimachinery/meta/field-error.js';
import { type JsonObject, type JsonValue, objectsOf } from '../../../apimachinery/json/json.js';
import { addressErrors } from '../../../apimachinery/validation/addresses.js';
import { qualifiedNameErrors, toFieldErrors } from '../../../apimachinery/validation/name-errors.js';
import { inclusiveRangeError, isPortName } from '../../../apimachinery/validation/names.js';
import type { EndpointPort, ServicePort } from '../../../apimachinery/generated/core.js';
import { numberOf } from './fields.js';

const NOT_NEGATIVE = 'must be greater than or equal to 0';
export const MAX_INT32 = 2147483647;
const MAX_PORT = 65535;

/** Returns an integer, up to the size of an int64, or undefined if the value is not a number. */
export const integerOf = (value: JsonValue | undefined): number | bigint | undefined =>
  typeof value === 'number' || typeof value === 'bigint' ? value : undefined;

export type TextCheck = (value: string, path: FieldPath) => FieldError[];

/** Validates each value of a list. `path` is that of the list. */
export const eachErrors = <T>(
  values: readonly T[] | null | undefined,
  path: FieldPath,
  check: (value: T, path: FieldPath) => FieldError[],
): FieldError[] => (values ?? []).flatMap((value, i) => check(value, path.index(i)));

/** Validates each object of the list at a key. `path` is that of the parent. */
export const itemErrors = <T extends JsonObject, K extends string>(
  parent: T | undefined,
  key: K,
  path: FieldPath,
  check: (item: Item<T[K]>, path: FieldPath) => FieldError[],
): FieldError[] => eachErrors(objectsOf(parent?.[key]) as Item<T[K]>[], path.child(key), check);

/** The items of a list; any object if the list is not declared. */
type Item<List> = NonNullable<List> extends readonly (infer I)[] ? I : JsonObject;

/** Validates fields of a struct, each with its check, in the order of the checks. `path` is that of the struct. */
export const fieldErrors = <T extends JsonObject>(struct: T, path: FieldPath, checks: FieldChecks<T>): FieldError[] =>
  Object.entries(checks as Record<string, (value: JsonValue | undefined, path: FieldPath) => FieldError[]>).flatMap(
    ([field, check]) => check(struct[field], path.child(field)),
  );

/** The checks of declared fields: those that are not only in the index signature. */
type FieldChecks<T> = {
  readonly [K in keyof T as string extends K ? never : K]?: (value: T[K], path: FieldPath) => FieldError[];
};

/** Returns a check of a field: it is required, and passes another check. */
export const needed =
  (check: TextCheck) =>
  (value: string | undefined, path: FieldPath): FieldError[] =>
    requiredOr(value ?? '', path, check);

/** Returns a check of a field: its value is from a list, if there is one. */
export const oneOf =
  (...values: readonly string[]) =>
  (value: string | undefined, path: FieldPath): FieldError[] =>
    choiceIfSet(value, path, values);

/** Returns a check that refuses values that it was given before. `shown` returns a value as the error prints it. */
export function noDuplicates(shown: (value: string) => string | Printed = (value) => value): TextCheck {
  const seen = new Set<string>();
  return (value, path) => {
    if (seen.has(value)) return [duplicate(path, shown(value))];
    seen.add(value);
    return [];
  };
}

/** Requires a value that passes a check. */
export const requiredOr = (value: string, path: FieldPath, check: TextCheck): FieldError[] =>
  value === '' ? [required(path)] : check(value, path);

/** Requires a value from a list. An empty value is missing. */
export function choice(value: string, path: FieldPath, values: readonly string[], detail = ''): FieldError[] {
  if (value === '') return [required(path, detail)];
  return values.includes(value) ? [] : [notSupported(path, value, values)];
}

/** Requires a value from a list. The empty text is a value. */
export const requiredChoice = (
  value: JsonValue | undefined,
  path: FieldPath,
  values: readonly string[],
): FieldError[] => (typeof value === 'string' ? choiceIfSet(value, path, values) : [required(path)]);

/** Requires a value from a list, if there is a value. The empty text is one. */
export const choiceIfSet = (value: JsonValue | undefined, path: FieldPath, values: readonly string[]): FieldError[] =>
  typeof value !== 'string' || values.includes(value) ? [] : [notSupported(path, value, values)];

export function notNegative(value: JsonValue | undefined, path: FieldPath): FieldError[] {
  const number = integerOf(value) ?? 0;
  return number < 0 ? [invalid(path, number, NOT_NEGATIVE)] : [];
}

/** Requires a number between two bounds, both inclusive. */
export const rangeErrors = (value: number | bigint, path: FieldPath, low: number, high: number): FieldError[] =>
  value >= low && value <= high ? [] : [invalid(path, value, inclusiveRangeError(low, high))];

/** Validates the ID of a user or group. */
export function idErrors(value: JsonValue | undefined, path: FieldPath): FieldError[] {
  const id = integerOf(value);
  return id === undefined ? [] : rangeErrors(id, path, 0, MAX_INT32);
}

export const portNumberErrors = (port: number, path: FieldPath): FieldError[] => rangeErrors(port, path, 1, MAX_PORT);

export const portNameErrors = toFieldErrors(isPortName);

/** Validates the number or the name of a port. */
export function portErrors(port: JsonValue | undefined, path: FieldPath): FieldError[] {
  if (typeof port === 'string') return portNameErrors(port, path);
  return portNumberErrors(numberOf(port), path);
}

export const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];

/** Validates the application protocol of a port: a name with or without a domain. */
export function appProtocolErrors(port: EndpointPort | ServicePort, path: FieldPath): FieldError[] {
  const name = port.appProtocol;
  if (typeof name !== 'string') return [];
  return qualifiedNameErrors(name, path.child('appProtocol'));
}

/** Validates an IP address of either family. */
export const ipErrors = toFieldErrors(addressErrors);

/** Validates the bits of a file mode, if given. */
export function modeErrors(value: JsonValue | undefined, path: FieldPath): FieldError[] {
  if (typeof value !== 'number' || (value >= 0 && value <= 0o777)) return [];
  return [invalid(path, value, 'must be a number between 0 and 0777 (octal), both inclusive')];
}

export const backstepErrors = (where: string, path: FieldPath): FieldError[] =>
  where.split('/').includes('..') ? [invalid(path, where, "must not contain '..'")] : [];

/** Requires a relative path that stays below its start. */
export const descendingPathErrors = (where: string, path: FieldPath): FieldError[] => [
  ...(where.startsWith('/') ? [invalid(path, where, 'must be a relative path')] : []),
  ...backstepErrors(where, path),
];

/** Validates the path of a file in a volume. Names that begin with two dots are reserved for the kubelet. */
export function filePathErrors(where: string, path: FieldPath): FieldError[] {
  const errors = descendingPathErrors(where, path);
  const reserved = where.startsWith('..') && !where.startsWith('../');
  return reserved ? [...errors, invalid(path, where, "must not start with '..'")] : errors;
}
