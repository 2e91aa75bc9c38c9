/** What a table has under a key that somebody else chose: `constructor` is in none that does not name it. */
export const own = <T>(table: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
