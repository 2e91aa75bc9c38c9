import type { Clock } from '../util/clock.js';

/** Resolves in a later turn of the event loop, after the input that is waiting now was handled. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Longest stretch of synchronous work, in milliseconds, after which long work lets others have their turn. */
export const SLICE_MILLIS = 5;

/** Takes all steps, at once if they fit into a slice, else slice by slice, between which others have their turn. */
export function startSlices<T>(steps: Iterator<undefined, T>, clock: Pick<Clock, 'monotonic'>): T | Promise<T> {
  const first = takeSlice(steps, clock);
  return first.done === true ? first.value : finishSlices(steps, clock);
}

async function finishSlices<T>(steps: Iterator<undefined, T>, clock: Pick<Clock, 'monotonic'>): Promise<T> {
  for (;;) {
    await nextTurn();
    const last = takeSlice(steps, clock);
    if (last.done === true) return last.value;
  }
}

function takeSlice<T>(steps: Iterator<undefined, T>, clock: Pick<Clock, 'monotonic'>): IteratorResult<undefined, T> {
  const until = clock.monotonic() + SLICE_MILLIS;
  for (;;) {
    const step = steps.next();
    if (step.done === true || clock.monotonic() >= until) return step;
  }
}
