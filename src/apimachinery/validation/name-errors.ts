import { type FieldError, type FieldPath, invalid } from '../meta/field-error.js';
import { isConfigMapKey, isDns1123Label, isDns1123Subdomain, isLabelValue, isQualifiedName } from './names.js';

/** Returns a check that reports each text of another one. */
export const toFieldErrors =
  (check: (value: string) => readonly string[]) =>
  (value: string, path: FieldPath | string): FieldError[] =>
    check(value).map((text) => invalid(path, value, text));

/** Validates a DNS label, such as the name of a namespace, container, or volume. */
export const labelErrors = toFieldErrors(isDns1123Label);

/** Validates a DNS subdomain, such as the name of most objects. */
export const subdomainErrors = toFieldErrors(isDns1123Subdomain);

/** Validates a DNS subdomain that may be empty. */
export const subdomainErrorsIfSet = (value: string, path: FieldPath | string): FieldError[] =>
  value === '' ? [] : subdomainErrors(value, path);

/** Validates a name with an optional domain prefix: a label key, finalizer, or resource. */
export const qualifiedNameErrors = toFieldErrors(isQualifiedName);

/** Validates a key of a ConfigMap or Secret. */
export const configMapKeyErrors = toFieldErrors(isConfigMapKey);

/** Validates the value of a label. */
export const labelValueErrors = toFieldErrors(isLabelValue);
