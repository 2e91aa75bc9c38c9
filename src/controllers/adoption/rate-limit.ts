import { type Clock, sleep } from '../../util/clock.js';

/** So many things a second; what was not used is not saved up. */
export class RateLimit {
  private free = 0;

  constructor(
    private readonly clock: Clock,
    /** May be changed at any time. */
    public perSecond: number,
  ) {}

  /** Resolves when so many more may be taken. */
  async take(count: number, signal: AbortSignal): Promise<void> {
    const now = this.clock.monotonic();
    const at = Math.max(now, this.free);
    this.free = at + (count * 1000) / this.perSecond;
    if (at > now) await sleep(this.clock, at - now, signal);
  }
}
