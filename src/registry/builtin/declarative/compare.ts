import type { FieldError } from '../../../apimachinery/meta/field-error.js';
import { ERROR_OF, type Marker } from './markers.js';

/** An error that only one of the two validations finds. */
export interface Difference {
  readonly field: string;
  readonly type: string;
  readonly foundBy: 'declarative' | 'hand-written';
}

/** Returns `rules.*.verbs` for `rules[3].verbs`. */
const placeOf = ({ field }: FieldError): string => field.replace(/\[\d+\]/g, '.*');

/** Reports whether a marker covers an error of the hand-written validation. */
export const isCovered = (error: FieldError, markers: readonly Marker[]): boolean =>
  markers.some(({ path, rule }) => ERROR_OF[rule.name] === error.type && path.join('.') === placeOf(error));

/** Returns the errors that only one of the validations finds. Errors are equal if they have the same type and field; their texts may differ. */
export function differences(
  handWritten: readonly FieldError[],
  declarative: readonly FieldError[],
  markers: readonly Marker[],
): Difference[] {
  if (handWritten.length + declarative.length === 0) return [];
  const covered = handWritten.filter((error) => isCovered(error, markers));
  return [
    ...onlyIn(covered, declarative).map(describe('hand-written')),
    ...onlyIn(declarative, covered).map(describe('declarative')),
  ];
}

const keyOf = ({ type, field }: FieldError): string => `${type} ${field}`;

function onlyIn(errors: readonly FieldError[], others: readonly FieldError[]): FieldError[] {
  const known = new Set(others.map(keyOf));
  return [...new Map(errors.map((error) => [keyOf(error), error])).values()].filter(
    (error) => !known.has(keyOf(error)),
  );
}

const describe =
  (foundBy: Difference['foundBy']) =>
  ({ field, type }: FieldError): Difference => ({ field, type, foundBy });
