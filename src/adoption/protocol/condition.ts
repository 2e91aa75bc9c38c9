/** A condition of an Adoption: type, whether it holds, a reason and a sentence. */
export type AdoptionCondition = readonly [type: string, holds: boolean, reason: string, message: string];

/** The reason of the condition Switched if a switch has been given up and is tried again. */
export const GIVEN_UP = 'GivenUp';

/** The reason of the condition Returned if a return is tried again because writes were refused for as long as they may be. */
export const TOOK_TOO_LONG = 'TookTooLong';
