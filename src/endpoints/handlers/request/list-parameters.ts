import type { Condition } from '../../../storage/cacher/interfaces.js';
import type { ServedKind } from '../../../registry/rest/served.js';

/** A parameter of lists and watches that puts a condition on their objects, beyond the selectors. */
export interface ListParameter {
  readonly name: string;
  /** Returns the condition that a value means for the objects of a kind. Throws ApiError (400) if it means none. */
  condition(value: string, served: ServedKind): Condition;
}

/** All such parameters: a new one is a file that exports it, and an entry here. */
export const LIST_PARAMETERS: readonly ListParameter[] = [];
