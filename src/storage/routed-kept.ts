import type { Backend } from './interfaces.js';
import type { KeptEntry, KeptHistory, KeptList, KeptListOptions } from './kept/interfaces.js';

/** Returns the history of several logs. `of` returns the history of a type. */
export function routedKept(all: readonly Backend[], of: (resource: string) => KeptHistory): KeptHistory {
  const histories = all.flatMap(({ kept }) => kept ?? []);
  return {
    list: (options) =>
      options.resource === undefined ? listAll(histories, of, options) : of(options.resource).list(options),
    entry: (resource, key, revision) => of(resource).entry(resource, key, revision),
    content: (resource, key, revision) => of(resource).content(resource, key, revision),
    deleted: (resource, options) => of(resource).deleted(resource, options),
    types: async () => {
      const types = await Promise.all(
        histories.map(async (history) => (await history.types()).filter((resource) => of(resource) === history)),
      );
      return types.flat();
    },
    usage: (resource) => of(resource).usage(resource),
    policy: (resource) => of(resource).policy(resource),
    setPolicy: (resource, policy) => of(resource).setPolicy(resource, policy),
    purge: (resource, keys) => of(resource).purge(resource, keys),
  };
}

/** Lists the writes of all logs in the order of their revisions. Entries of two logs with one revision are on one page. */
async function listAll(
  histories: readonly KeptHistory[],
  of: (resource: string) => KeptHistory,
  options: KeptListOptions,
): Promise<KeptList> {
  const lists = await Promise.all(histories.map((history) => history.list(options)));
  const sign = options.order === 'oldest first' ? 1 : -1;
  // A type that moved to another log has left entries in the former one, with revisions that mean nothing any more.
  const found = lists
    .flatMap(({ entries }, i) => entries.filter(({ resource }) => of(resource) === histories[i]))
    .sort((a, b) => sign * (a.revision - b.revision));
  // Of a log that has more, nothing beyond its last entry is known.
  const ends = lists.flatMap(({ more, entries }) => (more ? [(entries.at(-1)?.revision ?? 0) * sign] : []));
  const end = Math.min(...ends, (found[options.limit - 1]?.revision ?? Infinity * sign) * sign);
  const entries: KeptEntry[] = found.filter(({ revision }) => revision * sign <= end);
  return {
    entries,
    revision: Math.max(...lists.map(({ revision }) => revision)),
    more: entries.length < found.length || ends.length > 0,
  };
}
