import type { Clock } from '../../../util/clock.js';
import { HEALTHY, type Health } from '../../interfaces.js';

/** Writes are reported as failing if they have waited this long without any success. */
const FAILING_MILLIS = 10_000;
/** The time without success after which the commit path restarts, and again after the same time. */
const START_OVER_MILLIS = 30_000;
/** How long a failure counts if no write is tried again. */
const REMEMBERED_MILLIS = 30_000;

/** Tracks whether writes succeed: for how long none has succeeded while some waited. */
export class WriteHealth {
  private waiting = false;
  /** When writes began to wait without success, in monotonic milliseconds. */
  private since = 0;
  private failed = -Infinity;
  private startedOver = -Infinity;

  constructor(private readonly clock: Clock) {}

  /** Called when a write waits. */
  waits(): void {
    if (this.waiting) return;
    if (!this.remembersFailure()) this.since = this.clock.monotonic();
    this.waiting = true;
  }

  /** Called when a commit succeeded. */
  succeeded(): void {
    this.since = this.clock.monotonic();
    this.failed = -Infinity;
  }

  /** Called when a write was rejected. */
  gaveUp(): void {
    this.failed = this.clock.monotonic();
  }

  /** Called when no write waits any more. */
  idle(): void {
    this.waiting = false;
  }

  /** Reports whether it is time to restart with new connections; true once each time. */
  isStuck(): boolean {
    const now = this.clock.monotonic();
    if (!this.waiting || now - Math.max(this.since, this.startedOver) < START_OVER_MILLIS) return false;
    this.startedOver = now;
    return true;
  }

  /** `awayMillis`: for how long MongoDB has been away. Writes that arrive then are refused, and do not wait here. */
  state(awayMillis = 0): Health {
    const failing = this.waiting || this.remembersFailure() ? this.clock.monotonic() - this.since : 0;
    const millis = Math.max(failing, awayMillis);
    if (millis < FAILING_MILLIS) return HEALTHY;
    return { ok: false, reason: `no write has succeeded for ${Math.round(millis / 1_000)} s` };
  }

  private remembersFailure(): boolean {
    return this.clock.monotonic() - this.failed < REMEMBERED_MILLIS;
  }
}
