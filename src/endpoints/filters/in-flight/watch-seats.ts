/** A watch keeps its parsed selectors, so each of these many characters of its query counts as another watch. */
const QUERY_CHARACTERS_PER_WATCH = 1024;

/** Counts the watches of each user. Only users who watch are remembered. */
export class WatchSeats {
  private readonly taken = new Map<string, number>();

  /** 0 means no limit. */
  constructor(private readonly perUser: number) {}

  /** Returns what frees the place that the watch takes; undefined if its user has too many. */
  take(user: string, query: string): (() => void) | undefined {
    const weight = 1 + Math.floor(query.length / QUERY_CHARACTERS_PER_WATCH);
    const before = this.taken.get(user) ?? 0;
    if (this.perUser > 0 && before + weight > this.perUser) return undefined;
    this.taken.set(user, before + weight);
    return () => {
      const left = (this.taken.get(user) ?? 0) - weight;
      if (left > 0) this.taken.set(user, left);
      else this.taken.delete(user);
    };
  }

  /** The number of watches of the user who has most. */
  get most(): number {
    let most = 0;
    for (const count of this.taken.values()) most = Math.max(most, count);
    return most;
  }

  /** The users who watch now. */
  get users(): number {
    return this.taken.size;
  }
}
