import type { Clock } from '../../util/clock.js';
import type { Layer, Stopwatch } from '../../util/metrics/stopwatch.js';

/** The stopwatch of one request. */
export class Timings implements Stopwatch {
  /** Milliseconds. */
  readonly layers = new Map<Layer, number>();

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  monotonic(): number {
    return this.clock.monotonic();
  }

  spent(layer: Layer, millis: number): void {
    this.layers.set(layer, (this.layers.get(layer) ?? 0) + millis);
  }
}
