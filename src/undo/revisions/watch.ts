import type { EventFrame, Watcher, WatchEvent, WatchReceiver } from '../../storage/cacher/interfaces.js';
import { ObjectEvent } from '../../storage/object-list.js';
import type { Clock, Timer } from '../../util/clock.js';
import type { ShownRevision } from './shown-revision.js';

/** How long a revision may take to be shown. */
const POLL_MILLIS = 500;

interface RevisionWatchOptions {
  readonly clock: Clock;
  readonly receiver: WatchReceiver;
  /** Reads what was written after a revision. */
  read(after: number): Promise<{ readonly found: readonly ShownRevision[]; readonly revision: number }>;
  newest(): Promise<number>;
}

/** A watch of revisions: each is ADDED once, because a revision never changes. */
export class RevisionWatch implements Watcher {
  private after = 0;
  private stopped = false;
  private isFull = false;
  private timer: Timer | undefined;

  constructor(private readonly options: RevisionWatchOptions) {}

  /** Shows what exists after a revision. `bookmark`: tells when that has been shown. */
  async start(after: number, bookmark: boolean): Promise<void> {
    this.after = after;
    await this.show();
    if (bookmark && !this.stopped) this.options.receiver.receive([new InitialEventsEnd(this.after)]);
    this.wait();
  }

  resume(): void {
    this.isFull = false;
  }

  stop(): void {
    this.stopped = true;
    this.timer?.cancel();
  }

  private wait(): void {
    if (!this.stopped) this.timer = this.options.clock.setTimer(POLL_MILLIS, () => void this.poll());
  }

  private async poll(): Promise<void> {
    try {
      if (!this.isFull && (await this.options.newest()) > this.after) await this.show();
      this.wait();
    } catch (error) {
      if (this.stopped) return;
      this.stop();
      this.options.receiver.ended(error instanceof Error ? error : new Error(String(error)));
    }
  }

  private async show(): Promise<void> {
    const { found, revision } = await this.options.read(this.after);
    if (this.stopped) return;
    this.after = Math.max(this.after, revision);
    if (found.length === 0) return;
    this.isFull = !this.options.receiver.receive(found.map((one) => new ObjectEvent('ADDED', one.revision, one)));
  }
}

class InitialEventsEnd implements WatchEvent {
  readonly type = 'BOOKMARK';
  readonly object = undefined;
  readonly initialEventsEnd = true;

  constructor(readonly revision: number) {}

  encoded(frame: EventFrame): Uint8Array {
    return frame.encode(this);
  }
}
