import { type FieldError, FieldPath, invalid } from '../../apimachinery/meta/field-error.js';

/** Errors of the schema that keep rules from being evaluated. */
const BLOCKING = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

/** The error that stands for the rules left out because the object is not valid; undefined if none are left out. */
export function blockedRules(errors: readonly FieldError[]): FieldError | undefined {
  if (!errors.some((error) => BLOCKING.has(error.type))) return undefined;
  const why =
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
  return invalid(FieldPath.empty, undefined, why);
}
