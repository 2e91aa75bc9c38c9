import type { Clock, Timer } from '../src/clock.js';

/** A clock that moves only by `advance`. */
export class FakeClock implements Clock {
  private readonly timers = new Set<{ readonly at: number; readonly callback: () => void }>();
  private millis = Date.UTC(2026, 0, 1);

  now(): number {
    return this.millis;
  }

  monotonic(): number {
    return this.millis;
  }

  setTimer(millis: number, callback: () => void): Timer {
    const timer = { at: this.millis + millis, callback };
    this.timers.add(timer);
    return { cancel: () => this.timers.delete(timer) };
  }

  /** Advances the time and runs the timers that are due, in order. */
  advance(millis: number): void {
    const end = this.millis + millis;
    for (;;) {
      const [due] = [...this.timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (due === undefined) break;
      this.timers.delete(due);
      this.millis = Math.max(this.millis, due.at);
      due.callback();
    }
    this.millis = end;
  }
}
