import { type Clock, sleep } from '../util/clock.js';

/** How long unused capacity is kept, in milliseconds: a page that arrives late does not lower the rate. */
const SAVED_MILLIS = 1_000;

/** Limits the number of items per second. */
export class RateLimit {
  private free = -Infinity;

  constructor(
    private readonly clock: Clock,
    /** May be changed at any time. */
    public perSecond: number,
  ) {}

  /** Accounts for `count` items; resolves when the next ones may be taken. */
  async take(count: number, signal: AbortSignal): Promise<void> {
    const now = this.clock.monotonic();
    const before = this.free === -Infinity ? now : this.free;
    this.free = Math.max(now - SAVED_MILLIS, before) + (count * 1000) / this.perSecond;
    // These items have already been read; the next ones wait for them.
    if (this.free > now) await sleep(this.clock, this.free - now, signal);
  }
}
