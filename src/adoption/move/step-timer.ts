import type { Clock } from '../../util/clock.js';

/** Measures how long consecutive steps take. */
export class StepTimer {
  private readonly steps: string[] = [];
  private at: number | undefined;

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  begin(): void {
    this.steps.length = 0;
    this.at = this.clock.monotonic();
  }

  /** Ends a step that started when the previous one ended; ignored if this process did not begin the measurement. */
  end(what: string): void {
    if (this.at === undefined) return;
    const now = this.clock.monotonic();
    this.steps.push(`${what} ${((now - this.at) / 1000).toFixed(1)} s`);
    this.at = now;
  }

  /** The steps in parentheses; '' if none were measured. */
  get text(): string {
    return this.steps.length === 0 ? '' : ` (${this.steps.join(', ')})`;
  }
}
