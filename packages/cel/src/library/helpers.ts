import type { Implementation } from '../declarations.js';
import { CostExceeded } from '../work.js';
import { CelList, NO_SUCH_OVERLOAD, type Value } from '../values/value.js';

/** Wraps an implementation for strings. The dispatcher has checked only arguments with static types. */
export const onString =
  (run: (text: string) => Value): Implementation =>
  (value) =>
    typeof value === 'string' ? run(value) : NO_SUCH_OVERLOAD;

export const onStrings =
  (run: (a: string, b: string) => Value): Implementation =>
  (a, b) =>
    typeof a === 'string' && typeof b === 'string' ? run(a, b) : NO_SUCH_OVERLOAD;

export const onList =
  (run: (list: CelList, other: Value) => Value): Implementation =>
  (value, other) =>
    value instanceof CelList ? run(value, other) : NO_SUCH_OVERLOAD;

export const onLists =
  (run: (a: CelList, b: CelList) => Value): Implementation =>
  (a, b) =>
    a instanceof CelList && b instanceof CelList ? run(a, b) : NO_SUCH_OVERLOAD;

/** The maximum length of a string: scanning a longer one would cost more than one call may. */
const LONGEST_TEXT = 10_000_000;

/** Ends the evaluation before it creates a string that is too long to be of any use. */
export function checkTextLength(length: number): void {
  if (length > LONGEST_TEXT) throw new CostExceeded();
}
