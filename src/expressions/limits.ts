/** The cost limit of one evaluation of one expression. */
export const PER_CALL_LIMIT = 1_000_000;
/** The cost limit of all rules on one object, and of all expressions of one policy and binding for one request. */
export const RUNTIME_BUDGET = 10_000_000;
/** The cost limit of the match conditions of one webhook, or of one policy and binding, for one request. */
export const MATCH_CONDITIONS_BUDGET = 2_500_000;
/** The maximum estimated cost of one expression of a definition, including its possible repetitions. */
export const RULE_COST_LIMIT = 10_000_000;

export const OUT_OF_BUDGET =
  'validation failed due to running out of cost budget, no further validation rules will be run';
