import { StorageError } from '../../errors.js';
import type { Revision } from '../../interfaces.js';
import { batchesOf, FIRST_REVISION, type LogPlace } from '../documents.js';
import { readFloor, type Head } from '../log/read.js';
import type { LogFollower, Position } from './follower.js';

export interface ContinuityOptions {
  readonly place: LogPlace;
  readonly follower: Pick<LogFollower, 'position'>;
  /** Called when the log is found to be another one than before. */
  onReplaced(reason: string): void;
}

/** The maximum time of a read. */
const READ_MILLIS = 10_000;
/** Unlike a majority read, it never shows the past, not even right after the restart of a lone member. */
const PRESENT = { readConcern: { level: 'linearizable' }, maxTimeMS: READ_MILLIS } as const;

/**
 * Checks that the log still continues the one that this replica has followed, which committed batches never leave except by trimming. After
 * a restore they are gone, or others have their revisions.
 */
export class Continuity {
  /** Where the follower was at the last check. */
  private last: Position;

  constructor(private readonly options: ContinuityOptions) {
    this.last = options.follower.position;
  }

  /**
   * Rejects if the log was replaced: it has the newest known batch, and as many between that and the one at the last check as were
   * followed. The newest one alone proves nothing, because it may have been written to the log that took the place of the former.
   */
  async check(): Promise<void> {
    const { place, follower } = this.options;
    const { last } = this;
    const now = follower.position;
    const { head } = now;
    if (head !== undefined) {
      const found = await batchesOf(place).findOne({ _id: head.first }, { projection: { writer: 1 }, ...PRESENT });
      if (found?.writer !== head.writer && (await readFloor(place)).floor < head.first)
        throw this.replaced(`revision ${head.first}, which was committed, is no longer in the log`);
      if (now.holes === last.holes) await this.checkBetween(last, head, now.taken - last.taken);
    }
    this.last = now;
  }

  private async checkBetween(last: Position, head: Head, expected: number): Promise<void> {
    const { place } = this.options;
    const query = { _id: { $gt: last.revision, $lte: head.first } };
    const { n } = await place.db.command({ count: place.collection, query, ...PRESENT });
    if (n === expected || (await readFloor(place)).floor > last.revision) return;
    throw this.replaced(
      `of ${expected} batches after revision ${last.revision}, which were committed, the log has ${String(n)}`,
    );
  }

  /** Checks whether the log ends before a revision that was committed; rejects if it does. */
  async checkEnd(committed: Revision): Promise<void> {
    const { place } = this.options;
    const found = await batchesOf(place).findOne({}, { sort: { _id: -1 }, projection: { last: 1 }, ...PRESENT });
    const newest = found?.last ?? FIRST_REVISION;
    if (newest < committed)
      throw this.replaced(`the log ends at revision ${newest}, but revision ${committed} was already committed`);
  }

  private replaced(reason: string): StorageError {
    this.options.onReplaced(reason);
    return new StorageError('unavailable', reason);
  }
}
