/** The source of time. Tests inject one that they advance themselves. */
export interface Clock {
  /** Returns milliseconds since the epoch. */
  now(): number;
  /** Returns monotonic milliseconds, for durations. */
  monotonic(): number;
  /** Runs `callback` once after `millis` milliseconds. */
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
      cancel: () => clearTimeout(timer),
    };
  },
};
