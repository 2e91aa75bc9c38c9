import type { Clock } from '../../util/clock.js';
import type { Revision } from '../interfaces.js';
import type { ReadAtPresent } from './interfaces.js';

/** After this time the revision advances, well within the history that watches may start from. */
const SHOWN_MILLIS = 60_000;

/**
 * The revision shown in lists that accept any state. As in kube-apiserver it is that of the type's own last change, or of the last read that
 * had to be newer, not that of the whole log. It advances by itself, so that a watch may start there.
 */
export class ShownRevision {
  private revision: Revision = 0;
  private since = 0;

  constructor(
    private readonly clock: Clock,
    /** Returns the revision of the cache's state. */
    private readonly current: () => Revision,
  ) {}

  set(revision: Revision): void {
    this.revision = revision;
    this.since = this.clock.monotonic();
  }

  /** Returns the revision that a read shows, and advances it if the read requires a newer one. */
  for(at: ReadAtPresent): Revision {
    if (at.mode === 'most-recent' || (at.mode === 'not-older-than' && at.revision > this.revision))
      this.set(this.current());
    return this.revision;
  }

  /** Called once a second. */
  advance(now: number): void {
    if (now - this.since >= SHOWN_MILLIS) this.set(this.current());
  }
}
