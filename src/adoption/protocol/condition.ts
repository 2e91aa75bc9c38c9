/** A condition of an Adoption: type, whether it holds, a reason and a sentence. */
export type AdoptionCondition = readonly [type: string, holds: boolean, reason: string, message: string];
