import type { Clock } from '../util/clock.js';
import { BACKGROUND_SLICE_MILLIS, SLICE_MILLIS } from './thresholds.js';
import { turns } from './turns.js';

type MonotonicClock = Pick<Clock, 'monotonic'>;

/** Yields the event loop. Resolves in a later turn, after the pending input was handled. */
export function yieldNow(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** The flow of work that no user requested. */
const SERVER = '';

/** Yields until a turn of its own: no other work that waits on `turns` runs in the same turn of the event loop. */
export const yieldForOwnTurn = (): Promise<void> => turns.wait(SERVER);

/** Decides when long work has to yield. A slice is the work between two yields. */
export class Slicer {
  private until: number;

  /** `flow` is the user that the work is for. `millis` is the length of a slice. */
  constructor(
    private readonly clock: MonotonicClock,
    private readonly flow = SERVER,
    private readonly millis = SLICE_MILLIS,
  ) {
    this.until = clock.monotonic() + millis;
  }

  /** True if the slice is used up. */
  get isExhausted(): boolean {
    return this.clock.monotonic() >= this.until;
  }

  /** Yields, and starts another slice in a turn of its own. */
  async yield(): Promise<void> {
    await turns.wait(this.flow);
    this.until = this.clock.monotonic() + this.millis;
  }
}

/** Runs all steps: immediately if they fit into one slice, otherwise slice by slice. */
export function sliced<T>(steps: Iterator<undefined, T>, clock: MonotonicClock): T | Promise<T> {
  const slicer = new Slicer(clock);
  const first = takeSlice(steps, slicer);
  return first.done === true ? first.value : finish(steps, slicer);
}

/** Runs all steps in short slices. For work that no request waits for. */
export function inBackground<T>(steps: Iterator<undefined, T>, clock: MonotonicClock): Promise<T> {
  return finish(steps, new Slicer(clock, SERVER, BACKGROUND_SLICE_MILLIS));
}

/** Runs each step in a turn of its own. For steps that take about as long as a slice. */
export async function stepByStep<T>(steps: Iterator<undefined, T>): Promise<T> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    await yieldNow();
  }
}

async function finish<T>(steps: Iterator<undefined, T>, slicer: Slicer): Promise<T> {
  for (;;) {
    await slicer.yield();
    const last = takeSlice(steps, slicer);
    if (last.done === true) return last.value;
  }
}

function takeSlice<T>(steps: Iterator<undefined, T>, slicer: Slicer): IteratorResult<undefined, T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true || slicer.isExhausted) return step;
  }
}
