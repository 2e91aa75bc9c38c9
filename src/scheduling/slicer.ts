import type { Clock } from '../util/clock.js';
import { BACKGROUND_SLICE_MILLIS, SLICE_MILLIS } from './thresholds.js';
import { turns } from './turns.js';

type MonotonicClock = Pick<Clock, 'monotonic'>;

/** Gives up the event loop: resolves in a later turn, after the input that is waiting now was handled. */
export function yieldNow(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** The flow of work that no user asked for. */
const SERVER = '';

/** Yields until a turn of the event loop that nobody else who asks for one of these has. */
export const yieldForOwnTurn = (): Promise<void> => turns.wait(SERVER);

/** Tells long work when to yield. A slice is what it does between two yields. */
export class Slicer {
  private until: number;

  /** `flow`: the user that the work is for. `millis`: how long a slice is. */
  constructor(
    private readonly clock: MonotonicClock,
    private readonly flow = SERVER,
    private readonly millis = SLICE_MILLIS,
  ) {
    this.until = clock.monotonic() + millis;
  }

  /** The slice is used up. */
  get isOver(): boolean {
    return this.clock.monotonic() >= this.until;
  }

  /** Yields, and begins another slice in a turn of its own. */
  async yield(): Promise<void> {
    await turns.wait(this.flow);
    this.until = this.clock.monotonic() + this.millis;
  }
}

/** Takes all steps: at once if they fit into a slice, else slice by slice. */
export function sliced<T>(steps: Iterator<undefined, T>, clock: MonotonicClock): T | Promise<T> {
  const slicer = new Slicer(clock);
  const first = takeSlice(steps, slicer);
  return first.done === true ? first.value : finish(steps, slicer);
}

/** Takes all steps in short slices, as nobody waits for them. */
export function inBackground<T>(steps: Iterator<undefined, T>, clock: MonotonicClock): Promise<T> {
  return finish(steps, new Slicer(clock, SERVER, BACKGROUND_SLICE_MILLIS));
}

/** Takes each step in a turn of its own: for steps that are about as long as a slice. */
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
    if (step.done === true || slicer.isOver) return step;
  }
}
