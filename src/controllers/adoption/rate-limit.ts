import { type Clock, sleep } from '../../util/clock.js';

/** What was not used may be taken for so long: a page that comes late does not lower the rate. */
const SAVED_MILLIS = 1_000;

/** So many things a second. */
export class RateLimit {
  private free = -Infinity;

  constructor(
    private readonly clock: Clock,
    /** May be changed at any time. */
    public perSecond: number,
  ) {}

  /** Resolves when so many more may be taken. */
  async take(count: number, signal: AbortSignal): Promise<void> {
    const now = this.clock.monotonic();
    const before = this.free === -Infinity ? now : this.free;
    this.free = Math.max(now - SAVED_MILLIS, before) + (count * 1000) / this.perSecond;
    // What was taken has been read already: what comes next waits for it.
    if (this.free > now) await sleep(this.clock, this.free - now, signal);
  }
}
