import type { Clock, Timer } from './clock.js';
import type { Stream } from './stream.js';

/** The time for which a client may continue to send a body that is not read. */
const GRACE_MILLIS = 2000;

/**
 * The streams whose response was completed before the whole request had arrived. The rest of the request is still checked, as if it were
 * read. After a while the client is asked to stop sending (RFC 9113, section 8.1).
 */
export class UnreadStreams {
  /** The streams, oldest first. */
  private readonly streams = new Map<number, { readonly stream: Stream; readonly until: number }>();
  private timer: Timer | undefined;

  constructor(
    private readonly clock: Clock,
    /** The maximum number of streams. Beyond it, the client must stop sending on the oldest one. */
    private readonly capacity: number,
    private readonly onStopSending: (id: number) => void,
  ) {}

  get(id: number): Stream | undefined {
    return this.streams.get(id)?.stream;
  }

  add(stream: Stream): void {
    this.streams.set(stream.id, { stream, until: this.clock.monotonic() + GRACE_MILLIS });
    for (const id of this.streams.keys()) {
      if (this.streams.size <= this.capacity) break;
      this.end(id);
    }
    this.timer ??= this.clock.setTimer(GRACE_MILLIS, this.onTime);
  }

  delete(id: number): void {
    this.streams.delete(id);
  }

  /** Asks the client to stop sending at once. */
  end(id: number): void {
    if (this.streams.delete(id)) this.onStopSending(id);
  }

  /** Called when the connection has ended. */
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
