import type { Clock } from '../../../util/clock.js';

/** Measures how long consecutive steps take. */
export class Laps {
  private readonly laps: string[] = [];
  private at: number | undefined;

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  begin(): void {
    this.laps.length = 0;
    this.at = this.clock.monotonic();
  }

  /** Ends a step that started when the previous one ended; ignored if this process did not begin the measurement. */
  end(what: string): void {
    if (this.at === undefined) return;
    const now = this.clock.monotonic();
    this.laps.push(`${what} ${((now - this.at) / 1000).toFixed(1)} s`);
    this.at = now;
  }

  /** The steps in parentheses; '' if none were measured. */
  get text(): string {
    return this.laps.length === 0 ? '' : ` (${this.laps.join(', ')})`;
  }
}
