import type { Clock } from '../../util/clock.js';
import type { Revision } from '../interfaces.js';
import { readHeader } from './entry.js';
import { COMPACTED, type Environment, type Operation } from './environment.js';
import type { Keeping } from './kept/keeping.js';
import type { Leaving } from './kept/mover.js';

/** The most that one step looks at. Writes wait for a step. */
const STEP_ENTRIES = 250;
const STEP_BYTES = 4 << 20;

export interface TrimmerOptions {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly historyMillis: number;
  readonly keeping: Keeping;
  /** History up to here is removed from the disk. */
  readonly removed: Revision;
  /** Returns the lowest revision that a list in progress needs; infinite if there is none. */
  readonly pinned: () => Revision;
}

/** Trims the log: what leaves the window moves to the history, as far as it is kept, and is removed. */
export class Trimmer {
  /** History up to here is compacted; some of it may still be on the disk. */
  oldest: Revision;
  private removed: Revision;
  private stepEntries = STEP_ENTRIES;
  /** When the log was last trimmed to its window. */
  trimmedAt: number;

  constructor(private readonly options: TrimmerOptions) {
    this.oldest = this.removed = options.removed;
    this.trimmedAt = options.clock.now();
  }

  /** Removes some of the expired history; false if nothing was left to remove. */
  async some(): Promise<boolean> {
    const more = await this.step();
    if (!more) this.trimmedAt = this.options.clock.now();
    return more;
  }

  /** Removes everything, after all revisions were compacted, and continues at a revision. */
  async raiseTo(first: Revision): Promise<void> {
    while (await this.step());
    await this.options.environment.commit([{ table: 'meta', key: COMPACTED, value: first }]);
    this.oldest = this.removed = first;
  }

  /**
   * Moves the states that were superseded by entries older than the window, and the entries of deletions, to the history, as far as it
   * keeps them, and removes them from the log in the same transaction. Each entry is examined once, when it leaves the window.
   */
  private async step(): Promise<boolean> {
    const { entries, complete } = this.leaving();
    if (entries.length === 0) return false;
    const { environment, keeping } = this.options;
    const moving = keeping.step();
    const operations: Operation[] = [];
    let last = this.removed;
    let taken = 0;
    for (const leaving of entries) {
      const { revision, header } = leaving;
      if (header.previous !== 0) operations.push({ table: 'log', revision: header.previous, value: undefined });
      if (header.type === 'DELETED') operations.push({ table: 'log', revision, value: undefined });
      await moving.take(leaving);
      last = revision;
      taken++;
      if (moving.isFull) break;
    }
    this.oldest = Math.max(this.oldest, last);
    operations.push({ table: 'meta', key: COMPACTED, value: last }, ...moving.operations);
    try {
      await environment.commit(operations);
    } catch (error) {
      // On a full disk a small step may still find room, and makes some.
      this.stepEntries = Math.max(1, Math.floor(taken / 4));
      throw error;
    }
    this.stepEntries = Math.min(2 * this.stepEntries, STEP_ENTRIES);
    moving.done();
    this.removed = last;
    return !complete || taken < entries.length;
  }

  /** Returns the next entries that leave the window, and whether these are all. */
  private leaving(): { readonly entries: readonly Leaving[]; readonly complete: boolean } {
    const { environment, clock, historyMillis, pinned } = this.options;
    environment.refresh();
    const cutoff = clock.now() - historyMillis;
    const lowest = pinned();
    const entries: Leaving[] = [];
    let bytes = 0;
    for (const { revision, entry } of environment.entriesAfter(this.removed)) {
      const header = readHeader(entry, revision);
      if ((revision > this.oldest && header.time >= cutoff) || revision > lowest) break;
      entries.push({ revision, entry, header });
      bytes += entry.length;
      if (entries.length === this.stepEntries || bytes > STEP_BYTES) return { entries, complete: false };
    }
    return { entries, complete: true };
  }
}
