import type { Cancellation } from './cancellation.js';

/** The source of time. Tests inject one that they advance themselves. */
export interface Clock {
  /** Returns milliseconds since the epoch. */
  now(): number;
  /** Returns monotonic milliseconds, for durations. */
  monotonic(): number;
  /** Runs `callback` once after `millis` milliseconds. The timer does not keep the process alive. */
  setTimer(millis: number, callback: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer: (millis, callback) => timerOf(setTimeout(callback, millis).unref()),
};

/** A clock for commands that only wait: its timers keep the process alive. */
export const foregroundClock: Clock = {
  ...systemClock,
  setTimer: (millis, callback) => timerOf(setTimeout(callback, millis)),
};

const timerOf = (timeout: NodeJS.Timeout): Timer => ({
  cancel: () => clearTimeout(timeout),
});

/** Resolves after `millis` milliseconds, or immediately when the signal aborts. */
export function sleep(clock: Clock, millis: number, cancellation?: Cancellation): Promise<void> {
  return new Promise((resolve) => {
    if (cancellation?.aborted === true) {
      resolve();
      return;
    }
    const done = (): void => {
      timer.cancel();
      cancellation?.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.setTimer(millis, done);
    cancellation?.addEventListener('abort', done);
  });
}

/** Resolves when the signal aborts. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
