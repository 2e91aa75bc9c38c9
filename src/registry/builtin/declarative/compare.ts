import type { FieldError } from '../../../apimachinery/meta/field-error.js';
import { ERROR_OF, type Marker } from './markers.js';

/** An error that one of the two ways of validation finds and the other does not. */
export interface Difference {
  readonly field: string;
  readonly type: string;
  readonly foundBy: 'declarative' | 'hand-written';
}

/** `rules[3].verbs` as `rules.*.verbs`. */
const placeOf = ({ field }: FieldError): string => field.replace(/\[\d+\]/g, '.*');

/** Whether a marker stands for an error that hand-written code found. */
export const isCovered = (error: FieldError, markers: readonly Marker[]): boolean =>
  markers.some(({ path, rule }) => ERROR_OF[rule.name] === error.type && path.join('.') === placeOf(error));

/** Errors are the same when they are of one type and at one place; the texts may differ. */
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
