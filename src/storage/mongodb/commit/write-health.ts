import type { Clock } from '../../../util/clock.js';

/** Writes that have waited for so long without any success fail. */
const FAILING_MILLIS = 10_000;
/** After so long the commit path begins anew, and again after as long. */
const START_OVER_MILLIS = 30_000;
/** So long a failure counts where nobody tries again. */
const REMEMBERED_MILLIS = 30_000;

/** Whether writes get through: for how long none has succeeded while some waited. */
export class WriteHealth {
  private waiting = false;
  /** Since when nothing has succeeded although something waited. */
  private since = 0;
  private failed = -Infinity;
  private startedOver = -Infinity;

  constructor(private readonly clock: Clock) {}

  /** A write waits. */
  waits(): void {
    if (this.waiting) return;
    if (!this.remembersFailure()) this.since = this.clock.monotonic();
    this.waiting = true;
  }

  /** A commit succeeded. */
  succeeded(): void {
    this.since = this.clock.monotonic();
    this.failed = -Infinity;
  }

  /** A write was given up. */
  gaveUp(): void {
    this.failed = this.clock.monotonic();
  }

  /** No write waits any more. */
  idle(): void {
    this.waiting = false;
  }

  /** Whether it is time to begin anew with new connections; true once each time. */
  isStuck(): boolean {
    const now = this.clock.monotonic();
    if (!this.waiting || now - Math.max(this.since, this.startedOver) < START_OVER_MILLIS) return false;
    this.startedOver = now;
    return true;
  }

  state(): { readonly ok: boolean; readonly reason: string } {
    const millis = this.clock.monotonic() - this.since;
    if (millis < FAILING_MILLIS || !(this.waiting || this.remembersFailure())) return { ok: true, reason: '' };
    return { ok: false, reason: `no write has succeeded for ${Math.round(millis / 1_000)} s` };
  }

  private remembersFailure(): boolean {
    return this.clock.monotonic() - this.failed < REMEMBERED_MILLIS;
  }
}
