import { type FieldError, type FieldPath, invalid } from '../meta/field-error.js';
import { isDns1123Label, isDns1123Subdomain, isLabelValue, isQualifiedName } from './names.js';

const told =
  (check: (value: string) => readonly string[]) =>
  (value: string, path: FieldPath | string): FieldError[] =>
    check(value).map((text) => invalid(path, value, text));

/** What is wrong with a DNS label, as names of namespaces, containers and volumes are. */
export const labelErrors = told(isDns1123Label);

/** What is wrong with a DNS subdomain, as names of most objects are. */
export const subdomainErrors = told(isDns1123Subdomain);

/** The same where none need be named. */
export const subdomainErrorsIfSet = (value: string, path: FieldPath | string): FieldError[] =>
  value === '' ? [] : subdomainErrors(value, path);

/** What is wrong with a name that may have a domain before it: keys of labels, finalizers, resources. */
export const qualifiedNameErrors = told(isQualifiedName);

/** What is wrong with the value of a label. */
export const labelValueErrors = told(isLabelValue);
