import type { Clock, Timer } from './clock.js';

/** How long a client has to say what it is, and to see the first notice of a shutdown. */
const PREFACE_MILLIS = 10_000;
const NOTICE_MILLIS = 1000;
/** How long a client may take for what has been written, and how long to close after that. */
const FLUSH_MILLIS = 30_000;
const LINGER_MILLIS = 1000;

/** What a lifetime asks of its connection. */
export interface Mortal {
  /** Open streams. */
  readonly size: number;
  /** Asks the client to go elsewhere (GOAWAY). */
  notice(): void;
  /** No further streams are taken. */
  goodbye(): void;
  /** Ends the connection after what has been written; `flushed` is called when that is out. */
  end(flushed: () => void): void;
  destroy(): void;
}

/** When a connection ends, and in which steps: one timer. */
export class Lifetime {
  /** serving; client asked to go elsewhere; takes nothing more; over. */
  private phase: 'open' | 'noticed' | 'closing' | 'closed' = 'open';
  private greeted = false;
  private timer: Timer | undefined;
  private idleSince: number;

  constructor(
    private readonly connection: Mortal,
    private readonly clock: Clock,
    /** A connection without streams is closed after this time. */
    private readonly idleMillis: number,
  ) {
    this.idleSince = clock.monotonic();
    this.arm(PREFACE_MILLIS);
  }

  get over(): boolean {
    return this.phase === 'closed';
  }

  /** Whether new streams are taken. */
  get takesStreams(): boolean {
    return this.phase === 'open' || this.phase === 'noticed';
  }

  /** The client has said hello. */
  greet(): void {
    this.greeted = true;
    this.arm(this.idleMillis);
  }

  /** The last open stream has ended. */
  rest(): void {
    this.idleSince = this.clock.monotonic();
    if (this.phase === 'closing') this.finish();
    else if (this.phase === 'open' && this.timer === undefined) this.arm(this.idleMillis);
  }

  /** Gives notice; `atOnce`: the end without one. */
  shutdown(atOnce: boolean): void {
    if (this.phase !== 'open') return;
    this.phase = 'noticed';
    if (atOnce) this.noticed();
    else {
      this.connection.notice();
      this.arm(NOTICE_MILLIS);
    }
  }

  /** The client has seen the notice: the connection ends with the last stream. */
  noticed(): void {
    if (this.phase !== 'noticed') return;
    this.phase = 'closing';
    this.disarm();
    this.connection.goodbye();
    if (this.connection.size === 0) this.finish();
  }

  /** Ends once what has been written is out. */
  finish(): void {
    this.phase = 'closed';
    this.arm(FLUSH_MILLIS);
    this.connection.end(() => {
      this.arm(LINGER_MILLIS);
    });
  }

  /** The socket is closed. */
  ended(): void {
    this.phase = 'closed';
    this.disarm();
  }

  private arm(millis: number): void {
    this.disarm();
    this.timer = this.clock.setTimer(millis, this.onTime);
  }

  private disarm(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  private readonly onTime = (): void => {
    this.timer = undefined;
    switch (this.phase) {
      case 'open':
        if (!this.greeted) this.connection.destroy();
        else if (this.connection.size === 0) this.tire();
        return;
      case 'noticed':
        this.noticed();
        return;
      case 'closing':
        return;
      case 'closed':
        this.connection.destroy();
    }
  };

  private tire(): void {
    const left = this.idleSince + this.idleMillis - this.clock.monotonic();
    if (left > 0) this.arm(left);
    else this.shutdown(false);
  }
}
