import { type JsonObject, objectAt, objectsOf } from '../json/json.js';
import { formatTime } from './meta.js';

/** The conditions in an object's status. */
export const conditionsOf = (object: JsonObject | undefined): JsonObject[] =>
  objectsOf(objectAt(object, 'status')?.['conditions']);

/** Reports whether an object has a condition whose status is True. */
export const isConditionTrue = (object: JsonObject | undefined, type: string): boolean =>
  conditionsOf(object).some((condition) => condition['type'] === type && condition['status'] === 'True');

/** Returns when a condition got its status: the previous transition time if the status is the same, else now. */
export function transitionTime(before: JsonObject | undefined, status: string, now: number): string {
  const time = before?.['status'] === status ? before['lastTransitionTime'] : undefined;
  return typeof time === 'string' ? time : formatTime(now);
}
