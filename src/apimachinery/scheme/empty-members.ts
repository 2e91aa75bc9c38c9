import type { JsonObject, JsonValue } from '../json/json.js';

const emptyMembers = new WeakMap<JsonObject, JsonObject>();

/**
 * Members of a struct, just decoded, that were given but are not written because they are empty. Validation still sees them,
 * and prints them; what is stored and owned does not have them.
 */
export const emptyMembersOf = (struct: JsonObject): JsonObject | undefined => emptyMembers.get(struct);

/** A copy of a struct, with what is known of its empty members, but for some. */
export function copyOfStruct(struct: JsonObject, ...except: readonly string[]): JsonObject {
  const copy = { ...struct };
  const noted = emptyMembers.get(struct);
  if (noted === undefined) return copy;
  emptyMembers.set(copy, Object.fromEntries(Object.entries(noted).filter(([key]) => !except.includes(key))));
  return copy;
}

/** Makes known of a copy of a tree what is known of the tree. */
export function knowAs(copy: JsonValue | undefined, tree: JsonValue | undefined): void {
  if (typeof tree !== 'object' || tree === null || typeof copy !== 'object' || copy === null) return;
  if (Array.isArray(tree)) {
    if (Array.isArray(copy)) for (let i = 0; i < tree.length; i++) knowAs(copy[i], tree[i]);
    return;
  }
  if (Array.isArray(copy)) return;
  const noted = emptyMembers.get(tree);
  if (noted !== undefined) emptyMembers.set(copy, noted);
  for (const key in tree) knowAs(copy[key], tree[key]);
}

/** Keeps a member that was given to the struct and is not written. */
export function noteEmpty(struct: JsonObject, key: string, value: JsonValue): void {
  const noted = emptyMembers.get(struct);
  if (noted === undefined) emptyMembers.set(struct, { [key]: value });
  else noted[key] = value;
}
