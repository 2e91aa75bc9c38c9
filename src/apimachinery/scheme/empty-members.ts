import { addFacts, FACTS, type JsonObject } from '../json/json.js';

/**
 * Returns the members of a newly decoded struct that were given but are not written because they are empty. Validation still sees
 * and prints them; what is stored and owned does not have them.
 */
export const emptyMembersOf = (struct: JsonObject): JsonObject | undefined => struct[FACTS]?.emptyMembers;

/** Returns a copy of a struct without some of its empty members. */
export function withoutEmpty(struct: JsonObject, ...names: readonly string[]): JsonObject {
  const copy = { ...struct };
  const known = emptyMembersOf(struct);
  if (known === undefined) return copy;
  addFacts(copy, { emptyMembers: Object.fromEntries(Object.entries(known).filter(([key]) => !names.includes(key))) });
  return copy;
}

/** Records members that were given to the struct but are not written. */
export function noteEmpty(struct: JsonObject, members: JsonObject): void {
  addFacts(struct, { emptyMembers: { ...emptyMembersOf(struct), ...members } });
}
