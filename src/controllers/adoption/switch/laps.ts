import type { Clock } from '../../../util/clock.js';

/** What took how long, one thing after the other. */
export class Laps {
  private readonly laps: string[] = [];
  private at: number | undefined;

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  begin(): void {
    this.laps.length = 0;
    this.at = this.clock.monotonic();
  }

  /** What has been done since the lap before; nothing where this process did not see it begin. */
  end(what: string): void {
    if (this.at === undefined) return;
    const now = this.clock.monotonic();
    this.laps.push(`${what} ${((now - this.at) / 1000).toFixed(1)} s`);
    this.at = now;
  }

  /** In parentheses; '' where nothing was seen. */
  get text(): string {
    return this.laps.length === 0 ? '' : ` (${this.laps.join(', ')})`;
  }
}
