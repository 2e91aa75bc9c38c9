import type { Clock, Timer } from '../../util/clock.js';
import { Condition } from '../../util/condition.js';
import { withTimeout } from '../../util/with-timeout.js';
import { StorageError, tooLarge } from '../errors.js';
import type { Log, Revision } from '../interfaces.js';

interface Wait {
  readonly revision: Revision;
  readonly deadline: number;
  resolve(): void;
  reject(error: StorageError): void;
}

/** Reads waiting for the cache to see a revision. All have the same maximum wait, so one timer serves all. */
export class RevisionWaits {
  private waits: Wait[] = [];
  /** Waited for without a time limit, by watches that start in the future. */
  private readonly advanced = new Condition();
  private timer: Timer | undefined;
  private closed: StorageError | undefined;
  private newest: Revision = 0;

  constructor(
    private readonly clock: Clock,
    private readonly maxMillis: number,
  ) {}

  get revision(): Revision {
    return this.newest;
  }

  wait(revision: Revision): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.closed !== undefined) reject(this.closed);
      else if (revision <= this.newest) resolve();
      else {
        this.waits.push({ revision, deadline: this.clock.monotonic() + this.maxMillis, resolve, reject });
        this.schedule();
      }
    });
  }

  /** Waits without a time limit. Also resolves when the signal is aborted or the waits are closed. */
  async reach(revision: Revision, signal: AbortSignal): Promise<void> {
    while (revision > this.newest && !signal.aborted && this.closed === undefined) await this.advanced.wait(signal);
  }

  /** Records that all caches hold everything up to the revision, or will before they answer again. `release` wakes the waiting reads. */
  advance(revision: Revision): void {
    this.newest = revision;
  }

  release(): void {
    this.advanced.broadcast();
    if (this.waits.length === 0) return;
    const due = this.waits.filter((wait) => wait.revision <= this.newest);
    if (due.length === 0) return;
    this.waits = this.waits.filter((wait) => wait.revision > this.newest);
    for (const wait of due) wait.resolve();
  }

  close(error: StorageError): void {
    this.closed = error;
    this.timer?.cancel();
    for (const wait of this.waits.splice(0)) wait.reject(error);
    this.advanced.broadcast();
  }

  private schedule(): void {
    const first = this.waits[0];
    if (this.timer !== undefined || first === undefined) return;
    this.timer = this.clock.setTimer(Math.max(1, first.deadline - this.clock.monotonic()), () => {
      this.timer = undefined;
      this.expire();
      this.schedule();
    });
  }

  private expire(): void {
    const now = this.clock.monotonic();
    let count = 0;
    for (const wait of this.waits) {
      if (wait.deadline > now) break;
      count++;
    }
    for (const wait of this.waits.splice(0, count)) {
      wait.reject(tooLarge(wait.revision, this.newest));
    }
  }
}

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
    try {
      await withTimeout(this.clock, millis, left, () => this.refusal(since));
    } finally {
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

/**
 * Asks the backend for its newest revision, one request at a time. A caller that arrives during a request waits for the next one: the
 * answer to a request says nothing about writes that were acknowledged after it was sent.
 */
export class NewestRevision {
  private running: Promise<Revision> | undefined;
  private next: Promise<Revision> | undefined;

  constructor(private readonly log: Pick<Log, 'currentRevision'>) {}

  fetch(): Promise<Revision> {
    if (this.running === undefined) return this.start();
    this.next ??= this.running
      .catch(() => 0)
      .then(() => {
        this.next = undefined;
        return this.start();
      });
    return this.next;
  }

  private start(): Promise<Revision> {
    const question = this.log.currentRevision().finally(() => {
      if (this.running === question) this.running = undefined;
    });
    this.running = question;
    return question;
  }
}
