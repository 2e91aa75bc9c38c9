import type { Implementation } from '../declarations.js';
import { CostExceeded } from '../work.js';
import { CelList, NO_SUCH_OVERLOAD, type Value } from '../values/value.js';

/** Wraps an implementation over strings; the dispatcher has checked the types where they are static. */
export const onString =
  (run: (text: string) => Value): Implementation =>
  (value) =>
    typeof value === 'string' ? run(value) : NO_SUCH_OVERLOAD;

export const onStrings =
  (run: (a: string, b: string) => Value): Implementation =>
  (a, b) =>
    typeof a === 'string' && typeof b === 'string' ? run(a, b) : NO_SUCH_OVERLOAD;

export const onList =
  (run: (list: CelList) => Value): Implementation =>
  (value) =>
    value instanceof CelList ? run(value) : NO_SUCH_OVERLOAD;

/** Looking through a longer text costs more than one call may. */
const LONGEST_TEXT = 10_000_000;

/** Ends the evaluation before a text is made that nothing could be done with. */
export function boundText(length: number): void {
  if (length > LONGEST_TEXT) throw new CostExceeded();
}
