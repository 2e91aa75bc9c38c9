/** The longest list that `lists.range` makes: it costs as much as one call may. */
export const MAX_RANGE = 1_000_000;
