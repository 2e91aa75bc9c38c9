/**
 * What is told at a pause: units of work, of about 25 ns, where it is known how many have just been done, or come before the next pause.
 */
export type AtPause = (units: number) => void;

let pause: AtPause | undefined;

/**
 * Runs what may take long, at once. Meanwhile `atPause` is called about every millisecond or more often; what it throws ends all of it.
 */
export function withPauses<T>(atPause: AtPause | undefined, run: () => T): T {
  if (atPause === undefined) return run();
  const outer = pause;
  pause = atPause;
  try {
    return run();
  } finally {
    pause = outer;
  }
}

/** For what takes some time whatever it is: compiling an expression. `units`: see `AtPause`. */
export function pauseNow(units = 0): void {
  pause?.(units);
}

/** Whether somebody waits for pauses. */
export function hasPauses(): boolean {
  return pause !== undefined;
}
