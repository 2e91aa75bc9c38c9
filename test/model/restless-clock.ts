import { FakeClock } from '../fakes/util/clock.js';
import type { Random } from './random.js';

/** A clock that jumps ahead by `millis` with the given chance at each reading, so that work is split into several slices. */
export class RestlessClock extends FakeClock {
  private extra = 0;

  constructor(
    private readonly random: Random,
    private readonly restlessness: { readonly chance: number; readonly millis: number },
  ) {
    super();
  }

  override monotonic(): number {
    const { chance, millis } = this.restlessness;
    if (this.random.chance(chance)) this.extra += millis;
    return super.monotonic() + this.extra;
  }
}
