/**
 * Called at points where long work could yield. Synchronous work cannot yield, but the callback may abort all of it by throwing. `units` is the
 * amount of work, in units of about 25 ns, that has just been done or comes before the next yield point; 0 if unknown.
 */
export type YieldPoint = (units: number) => void;

let current: YieldPoint | undefined;

/** Runs work that may take long. `yieldPoint` is called about every millisecond or more often; if it throws, all of the work is aborted. */
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

/** Calls the current yield point, if one is set. Work that always takes some time, such as compiling an expression, calls it once. */
export function reachYieldPoint(units = 0): void {
  current?.(units);
}

/** Reports whether a yield point is set. */
export function hasYieldPoint(): boolean {
  return current !== undefined;
}
