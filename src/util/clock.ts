/** Time as code with logic sees it; tests inject one that they turn by hand. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Monotonic milliseconds, for durations. */
  monotonic(): number;
  /** Runs `callback` once after `millis`; the timer does not keep the process alive. */
  setTimer(millis: number, callback: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer: (millis, callback) => {
    const timer = setTimeout(callback, millis);
    timer.unref();
    return {
      cancel: () => {
        clearTimeout(timer);
      },
    };
  },
};

/** For commands that do nothing but wait: its timers keep the process alive. */
export const foregroundClock: Clock = {
  ...systemClock,
  setTimer: (millis, callback) => {
    const timer = setTimeout(callback, millis);
    return {
      cancel: () => {
        clearTimeout(timer);
      },
    };
  },
};

/** Resolves after `millis`, or at once when the signal aborts. */
export function sleep(clock: Clock, millis: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const done = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.setTimer(millis, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** A clock for tests: time moves only by `advance`. */
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

  /** Moves time on and runs the timers that came due, in order. */
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
