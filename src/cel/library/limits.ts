/** The longest list that `lists.range` makes. */
export const MAX_RANGE = 1_000_000;
