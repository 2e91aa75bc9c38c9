import type { Clock, Timer } from '../../../util/clock.js';
import { StorageError } from '../../errors.js';

/** Reads waiting for caches to load: for a limited time after the load began, and a limited number of them. */
export class LoadWaits {
  private waiting = 0;
  private refused = 0;

  constructor(
    private readonly clock: Clock,
    private readonly maxMillis: number,
    private readonly maxWaiting: number,
  ) {}

  stats(): { readonly waiting: number; readonly refused: number } {
    return { waiting: this.waiting, refused: this.refused };
  }

  /** Waits for `left`, the end of a phase that began at `since`. Fails with 'initializing' if that takes too long or too many reads wait. */
  async wait(left: Promise<void>, since: number): Promise<void> {
    // `left` may reject after this read has given up.
    left.catch(() => undefined);
    const millis = since + this.maxMillis - this.clock.monotonic();
    if (millis <= 0 || this.waiting >= this.maxWaiting) throw this.refusal(since);
    this.waiting++;
    let timer: Timer | undefined;
    const tooLong = new Promise<never>((_, reject) => {
      timer = this.clock.setTimer(millis, () => reject(this.refusal(since)));
    });
    try {
      await Promise.race([left, tooLong]);
    } finally {
      timer?.cancel();
      this.waiting--;
    }
  }

  private refusal(since: number): StorageError {
    this.refused++;
    return new StorageError('initializing', 'storage is (re)initializing', {
      downMillis: this.clock.monotonic() - since,
    });
  }
}
