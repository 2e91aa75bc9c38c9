import type { Clock } from '../../../util/clock.js';

const PATIENCE = 2000;

/** Says how far the work is, once it has taken two seconds, and every two seconds from then on. */
export class Progress {
  private last: number;

  constructor(
    private readonly clock: Pick<Clock, 'monotonic'>,
    private readonly say: (line: string) => void,
  ) {
    this.last = clock.monotonic();
  }

  step(what: string, done: number, all: number): void {
    const now = this.clock.monotonic();
    if (now - this.last < PATIENCE) return;
    this.last = now;
    this.say(`${what} ${String(done)} of ${String(all)} files`);
  }
}
