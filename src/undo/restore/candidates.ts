import type { KeptContent, KeptEntry, KeptHistory, KeptListOptions } from '../../storage/kept/interfaces.js';
import type { RestoreSpec } from './spec.js';

/** How many objects are read from the store at once. */
const CHUNK = 500;

/** A state that a restore may bring back. */
export interface Candidate {
  /** The type's name in the store. */
  readonly resource: string;
  readonly key: string;
  /** The state; undefined if it is gone although the object is selected by name. */
  readonly content: KeptContent | undefined;
  /** For the undo of an update, the revision of the object's newest state; undefined for deleted objects. */
  readonly newest: number | undefined;
}

/** What a restore looks for in a type. */
export interface Search {
  readonly resource: string;
  /** The prefix of the keys: that of a namespace, or ''. */
  readonly prefix: string;
  readonly keys: readonly string[] | undefined;
  /** Only what was deleted at or after this time; 0 for all. */
  readonly since: number;
  readonly to: RestoreSpec['to'];
  /** Objects whose name was taken again are found, too: they are conflicts. */
  readonly taken: boolean;
}

/** The current objects of a type. */
export interface CurrentObjects {
  get(resource: string, key: string): Promise<{ readonly revision: number } | undefined>;
  /** Yields the keys and revisions of the objects under a prefix. */
  all(resource: string, prefix: string): AsyncIterable<{ readonly key: string; readonly revision: number }>;
}

/** Yields the candidates of a type. */
export function candidates(kept: KeptHistory, current: CurrentObjects, search: Search): AsyncGenerator<Candidate> {
  if (search.to !== undefined) return pastStates(kept, current, search, search.to);
  return search.keys !== undefined || (search.taken && search.since > 0) ? deletions(kept, search) : gone(kept, search);
}

/** Yields the objects that are gone, in the order of their keys. */
async function* gone(kept: KeptHistory, { resource, prefix, since }: Search): AsyncGenerator<Candidate> {
  for (let from = ''; ;) {
    const { entries, more } = await kept.deleted(resource, { prefix, since, from, limit: CHUNK });
    for (const { key, content } of entries) yield { resource, key, content, newest: undefined };
    const last = entries.at(-1);
    if (!more || last === undefined) return;
    from = `${last.key}\0`;
  }
}

/** Yields the last deletion of objects, whether they exist again or not. */
async function* deletions(kept: KeptHistory, { resource, prefix, keys, since }: Search): AsyncGenerator<Candidate> {
  if (keys === undefined) {
    const seen = new Set<string>();
    for await (const entry of backwards(kept, { resource, prefix, operations: ['Delete'] })) {
      if (entry.time < since) return;
      if (seen.has(entry.key)) continue;
      seen.add(entry.key);
      yield { resource, key: entry.key, content: entry.content, newest: undefined };
    }
    return;
  }
  for (const key of keys) {
    let found: KeptEntry | undefined;
    for await (const entry of backwards(kept, { resource, prefix, key, operations: ['Delete'] }, 1)) {
      found = entry.time >= since ? entry : undefined;
      break;
    }
    yield { resource, key, content: found?.content, newest: undefined };
  }
}

type Part = Pick<KeptListOptions, 'resource' | 'prefix' | 'key' | 'operations'>;

/** Yields the entries of a part of the history, newest first, down to those after a revision. */
async function* backwards(kept: KeptHistory, part: Part, limit = CHUNK, after = 0): AsyncGenerator<KeptEntry> {
  for (let upTo = 0; ;) {
    const { entries, more } = await kept.list({ ...part, after, upTo, order: 'newest first', limit });
    yield* entries;
    const last = entries.at(-1);
    if (!more || last === undefined || last.revision <= 1) return;
    upTo = last.revision - 1;
  }
}

/**
 * Yields the states that objects had at a revision or time, of objects that have changed since. The first write after that time names the
 * state before. If it names a later one, or an object has changed without any write that is still known, the state is gone.
 */
async function* pastStates(
  kept: KeptHistory,
  current: CurrentObjects,
  { resource, prefix, keys }: Search,
  to: NonNullable<RestoreSpec['to']>,
): AsyncGenerator<Candidate> {
  const at = 'revision' in to ? to.revision : await revisionAt(kept, { resource, prefix }, to.time);
  const first = new Map<string, number>();
  const parts: Part[] = keys?.map((key) => ({ resource, prefix, key })) ?? [{ resource, prefix }];
  for (const part of parts) {
    for await (const entry of backwards(kept, part, CHUNK, at)) first.set(entry.key, entry.previous);
  }
  for (const [key, previous] of first) {
    // The object did not exist yet.
    if (previous === 0) continue;
    const newest = (await current.get(resource, key))?.revision;
    const content = previous > at ? undefined : await kept.content(resource, key, previous);
    yield { resource, key, content, newest };
  }
  yield* unchangedOrLost(current, { resource, prefix, keys }, at, first);
}

/** Yields the objects without a known write after a revision: they have not changed, or their state is gone. */
async function* unchangedOrLost(
  current: CurrentObjects,
  { resource, prefix, keys }: Pick<Search, 'resource' | 'prefix' | 'keys'>,
  at: number,
  changed: ReadonlyMap<string, number>,
): AsyncGenerator<Candidate> {
  if (keys !== undefined) {
    for (const key of keys) {
      if (changed.has(key)) continue;
      const newest = (await current.get(resource, key))?.revision;
      if (newest === undefined || newest > at) yield { resource, key, content: undefined, newest };
    }
    return;
  }
  for await (const { key, revision } of current.all(resource, prefix)) {
    if (!changed.has(key) && revision > at) yield { resource, key, content: undefined, newest: revision };
  }
}

/** Returns the newest revision of a type that was written up to a time. */
async function revisionAt(kept: KeptHistory, part: Part, time: number): Promise<number> {
  let oldestAfter: number | undefined;
  for await (const entry of backwards(kept, part)) {
    if (entry.time <= time) return entry.revision;
    oldestAfter = entry.revision;
  }
  return oldestAfter === undefined ? Number.MAX_SAFE_INTEGER : oldestAfter - 1;
}
