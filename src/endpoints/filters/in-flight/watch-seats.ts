/**
 * The watches of one user on this server: above what clients have that watch each type in each of some hundred namespaces. A write that
 * concerns 5,000 watches takes the event loop about 40 ms.
 */
export const MAX_WATCHES_PER_USER = 5_000;
/** A watch keeps its parsed selectors, so each of these many characters of its query counts as another watch. */
const QUERY_CHARACTERS_PER_WATCH = 1024;

/** Counts the watches of each user. Only users who watch are remembered. */
export class WatchSeats {
  private readonly taken = new Map<string, number>();

  /** Returns what frees the place that the watch takes; undefined if its user has too many. */
  take(user: string, query: string): (() => void) | undefined {
    const weight = 1 + Math.floor(query.length / QUERY_CHARACTERS_PER_WATCH);
    const before = this.taken.get(user) ?? 0;
    if (before + weight > MAX_WATCHES_PER_USER) return undefined;
    this.taken.set(user, before + weight);
    return () => {
      const left = (this.taken.get(user) ?? 0) - weight;
      if (left > 0) this.taken.set(user, left);
      else this.taken.delete(user);
    };
  }

  /** The users who watch now. */
  get users(): number {
    return this.taken.size;
  }
}
