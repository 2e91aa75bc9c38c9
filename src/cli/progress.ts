import type { Clock } from '../util/clock.js';

/** Shorter work shows no progress; without a terminal, a line is printed at this interval, in milliseconds. */
const PATIENCE = 2_000;
const REDRAWN = 200;
const WIDTH = 30;
const CLEAR = '\r\u001b[K';

/** The output for progress: standard error. */
export interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Shows progress once the work has taken two seconds: a bar on a terminal, otherwise a line every two seconds. */
export class Progress {
  private readonly began: number;
  private last: number;
  private drawn = false;

  constructor(
    private readonly clock: Pick<Clock, 'monotonic'>,
    private readonly screen: Screen,
  ) {
    this.began = this.last = clock.monotonic();
  }

  step(done: number, all: number, what: string): void {
    const { isTTY = false } = this.screen;
    const now = this.clock.monotonic();
    if (now - this.began < PATIENCE || now - this.last < (isTTY && this.drawn ? REDRAWN : PATIENCE)) return;
    this.last = now;
    const text = `${done} of ${all} ${what}`;
    if (isTTY) {
      const filled = all === 0 ? 0 : Math.min(WIDTH, Math.floor((WIDTH * done) / all));
      this.screen.write(`${CLEAR}${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${text}`);
      this.drawn = true;
    } else this.screen.write(`${text}\n`);
  }

  /** Called before other lines are printed, and at the end. */
  clear(): void {
    if (this.drawn) this.screen.write(CLEAR);
    this.drawn = false;
  }
}
