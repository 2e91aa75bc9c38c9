/**
 * The time by which kept states are purged. It follows the clock, but no faster than twice the time that the process has run: whoever sets
 * the clock forward by a year purges nothing early. After a downtime it catches up in as long again, so states go late, never early. It
 * never goes back.
 */
export class PurgeTime {
  private last: number | undefined;

  /** `value`: the time as it was stored; milliseconds since the epoch. */
  constructor(private value: number) {}

  get now(): number {
    return this.value;
  }

  /** Moves on. `now`: the clock; `monotonic`: milliseconds that do not depend on it. */
  advance(now: number, monotonic: number): void {
    const elapsed = this.last === undefined ? 0 : Math.max(0, monotonic - this.last);
    this.last = monotonic;
    this.value = Math.max(this.value, Math.min(now, this.value + 2 * elapsed));
  }
}
