import {
  type FieldError,
  type FieldPath,
  invalid,
  required,
  tooLong,
} from '../../../../apimachinery/meta/field-error.js';
import { type JsonObject, type JsonValue, textAt } from '../../../../apimachinery/json/json.js';
import { objectsOf } from '../../../../apimachinery/json/values.js';
import { qualifiedNameErrors } from '../../../../apimachinery/validation/name-errors.js';
import { regexError } from '../../../../apimachinery/validation/names.js';
import { choiceIfSet, eachErrors, noDuplicates } from '../../shared/checks.js';

const STATUSES = ['False', 'True', 'Unknown'];
const MAX_REASON = 1024;
const MAX_MESSAGE = 32 * 1024;
const REASON = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?';
const REASON_TEXT =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";

/** Validates conditions of meta/v1. */
export function validateConditions(conditions: JsonValue | undefined, path: FieldPath): FieldError[] {
  const again = noDuplicates();
  return eachErrors(objectsOf(conditions), path, (condition, at) => [
    ...again(textAt(condition, 'type'), at.child('type')),
    ...validateCondition(condition, at),
  ]);
}

function validateCondition(condition: JsonObject, path: FieldPath): FieldError[] {
  const text = (key: string): string => textAt(condition, key);
  const errors = qualifiedNameErrors(text('type'), path.child('type'));
  errors.push(...choiceIfSet(text('status'), path.child('status'), STATUSES));
  const observed = condition['observedGeneration'];
  if (typeof observed === 'number' && observed < 0) {
    errors.push(invalid(path.child('observedGeneration'), observed, 'must be greater than or equal to zero'));
  }
  if (text('lastTransitionTime') === '') errors.push(required(path.child('lastTransitionTime')));
  const reason = text('reason');
  if (reason === '') errors.push(required(path.child('reason')));
  else if (!new RegExp(`^${REASON}$`).test(reason)) {
    const why = regexError(REASON_TEXT, REASON, 'my_name', 'MY_NAME', 'MyName', 'ReasonA,ReasonB', 'ReasonA:ReasonB');
    errors.push(invalid(path.child('reason'), reason, why));
  }
  if (Buffer.byteLength(reason) > MAX_REASON) errors.push(tooLong(path.child('reason'), MAX_REASON));
  if (Buffer.byteLength(text('message')) > MAX_MESSAGE) errors.push(tooLong(path.child('message'), MAX_MESSAGE));
  return errors;
}
