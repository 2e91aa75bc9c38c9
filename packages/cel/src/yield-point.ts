/**
 * Called where long work could yield, which synchronous work cannot: it may end all of it by throwing. Told the units of work, of about
 * 25 ns each, where it is known how many have just been done, or come before the next yield point.
 */
export type YieldPoint = (units: number) => void;

let current: YieldPoint | undefined;

/**
 * Runs what may take long, at once. Meanwhile `yieldPoint` is called about every millisecond or more often; what it throws ends all of it.
 */
export function withYieldPoint<T>(yieldPoint: YieldPoint | undefined, run: () => T): T {
  if (yieldPoint === undefined) return run();
  const outer = current;
  current = yieldPoint;
  try {
    return run();
  } finally {
    current = outer;
  }
}

/** For what takes some time whatever it is: compiling an expression. `units`: see `YieldPoint`. */
export function reachYieldPoint(units = 0): void {
  current?.(units);
}

/** Whether anybody wants to be called at yield points. */
export function hasYieldPoint(): boolean {
  return current !== undefined;
}
