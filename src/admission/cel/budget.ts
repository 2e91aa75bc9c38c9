/** What one evaluation of one expression may cost. */
export const PER_CALL_LIMIT = 1_000_000;
/** What the expressions of one policy and binding may cost for one request. */
export const RUNTIME_BUDGET = 10_000_000;
/** What the match conditions of one webhook, or of one policy and binding, may cost for one request. */
export const MATCH_CONDITIONS_BUDGET = 2_500_000;

export const OUT_OF_BUDGET =
  'validation failed due to running out of cost budget, no further validation rules will be run';
