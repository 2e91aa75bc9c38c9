import type { Clock } from '../../../util/clock.js';

/**
 * Catches up if the replica was suspended, because its head is old: a batch appended there might be void, with no way to find out. The
 * clocks only help to avoid that; no decision depends on them.
 */
export class HeadFreshness {
  /** When the head was last known to be the newest, or was about to be checked. */
  private fresh: Readings;

  constructor(
    private readonly clock: Clock,
    private readonly maxMillis: number,
    private readonly catchUp: () => Promise<void>,
  ) {
    this.fresh = readingsOf(clock);
  }

  /** Resolves when the head is fresh enough for a batch to be appended to it. */
  async ensure(): Promise<void> {
    const now = readingsOf(this.clock);
    // The monotonic clock may stop while the machine sleeps.
    const age = Math.max(now.wall - this.fresh.wall, now.monotonic - this.fresh.monotonic);
    if (age > this.maxMillis) await this.catchUp();
    this.fresh = now;
  }
}

/** What both clocks show at a moment. */
interface Readings {
  readonly wall: number;
  readonly monotonic: number;
}

const readingsOf = (clock: Clock): Readings => ({ wall: clock.now(), monotonic: clock.monotonic() });
