import type { Clock, Timer } from '../../../src/util/clock.js';

/** A clock that moves only by `advance`. */
export class FakeClock implements Clock {
  private timers: { at: number; callback: () => void }[] = [];
  constructor(private millis = Date.UTC(2026, 0, 1)) {}

  now(): number {
    return this.millis;
  }

  monotonic(): number {
    return this.millis;
  }

  setTimer(millis: number, callback: () => void): Timer {
    const timer = { at: this.millis + millis, callback };
    this.timers.push(timer);
    return {
      cancel: () => {
        this.timers = this.timers.filter((t) => t !== timer);
      },
    };
  }

  /** Advances the time and runs the timers that are due, in order. */
  advance(millis: number): void {
    const end = this.millis + millis;
    for (;;) {
      const due = this.timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.timers = this.timers.filter((t) => t !== due);
      this.millis = Math.max(this.millis, due.at);
      due.callback();
    }
    this.millis = end;
  }
}
