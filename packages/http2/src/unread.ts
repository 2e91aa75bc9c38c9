import type { Clock, Timer } from './clock.js';
import type { Stream } from './stream.js';

/** How long a client may go on sending what nobody reads. */
const GRACE_MILLIS = 2000;

/**
 * Streams that were answered before the whole request had come. What still comes has to be right, as if somebody read it; after a
 * while the client is asked to stop (RFC 9113, section 8.1).
 */
export class UnreadStreams {
  /** The longest known first. */
  private readonly streams = new Map<number, { readonly stream: Stream; readonly until: number }>();
  private timer: Timer | undefined;

  constructor(
    private readonly clock: Clock,
    /** So many at once; beyond, the first has to stop. */
    private readonly most: number,
    private readonly stop: (id: number) => void,
  ) {}

  get(id: number): Stream | undefined {
    return this.streams.get(id)?.stream;
  }

  add(stream: Stream): void {
    this.streams.set(stream.id, { stream, until: this.clock.monotonic() + GRACE_MILLIS });
    for (const id of this.streams.keys()) {
      if (this.streams.size <= this.most) break;
      this.end(id);
    }
    this.timer ??= this.clock.setTimer(GRACE_MILLIS, this.onTime);
  }

  delete(id: number): void {
    this.streams.delete(id);
  }

  /** The client has to stop at once. */
  end(id: number): void {
    if (this.streams.delete(id)) this.stop(id);
  }

  /** The connection is over. */
  clear(): void {
    this.streams.clear();
    this.timer?.cancel();
    this.timer = undefined;
  }

  private readonly onTime = (): void => {
    this.timer = undefined;
    const now = this.clock.monotonic();
    for (const [id, { until }] of this.streams) {
      if (until > now) {
        this.timer = this.clock.setTimer(until - now, this.onTime);
        return;
      }
      this.end(id);
    }
  };
}
