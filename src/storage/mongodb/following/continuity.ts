import { StorageError } from '../../errors.js';
import type { Revision } from '../../interfaces.js';
import { batchesOf, FIRST_REVISION, type LogPlace } from '../documents.js';
import { readFloor, type Head } from '../log/read.js';
import type { LogFollower } from './follower.js';

export interface ContinuityOptions {
  readonly place: LogPlace;
  readonly follower: Pick<LogFollower, 'head' | 'earliest'>;
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
  /** The newest batch at the last check: a later one may have been written to the log that took its place. */
  private anchor: Head | undefined;

  constructor(private readonly options: ContinuityOptions) {}

  /** Rejects if the log was replaced. */
  async check(): Promise<void> {
    const { place, follower } = this.options;
    const { head, earliest } = follower;
    const { anchor = earliest } = this;
    if (anchor !== undefined) {
      const found = await batchesOf(place).findOne({ _id: anchor.first }, { projection: { writer: 1 }, ...PRESENT });
      if (found?.writer !== anchor.writer && (await readFloor(place)).floor < anchor.first)
        throw this.replaced(`revision ${anchor.first}, which was committed, is no longer in the log`);
    }
    this.anchor = head;
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
