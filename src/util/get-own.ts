/** Looks up a key from an untrusted source in a table. `constructor` is not found unless the table itself has such a key. */
export const getOwn = <T>(table: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
