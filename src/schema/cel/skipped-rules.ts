import { type FieldError, FieldPath, invalid } from '../../apimachinery/meta/field-error.js';

/** Schema errors that prevent rules from being evaluated. */
const BLOCKING = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

/** Returns the error that reports skipped rules because the object is invalid; undefined if none are skipped. */
export function skippedRulesError(errors: readonly FieldError[]): FieldError | undefined {
  if (!errors.some((error) => BLOCKING.has(error.type))) return undefined;
  const why =
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
  return invalid(FieldPath.empty, undefined, why);
}
