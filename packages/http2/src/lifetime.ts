import type { Clock, Timer } from './clock.js';

/** The time that a client has to send its preface, and to acknowledge the first notice of a shutdown. */
const PREFACE_MILLIS = 10_000;
const NOTICE_MILLIS = 1000;
/**
 * A shutdown is announced when the client has sent requests, and then nothing for QUIET_MILLIS; after LEAVE_MILLIS in any case. Go's
 * client fails a request with a body that it begins while the announcement arrives, and a client that waits for responses begins few.
 */
const QUIET_MILLIS = 2;
const LEAVE_MILLIS = 100;
/**
 * The time, after the acknowledgment, in which requests are still accepted: Go's client acknowledges the notice before it sends
 * requests that had already been assigned a stream, and cannot repeat them if they have a body.
 */
const LATE_MILLIS = 200;
/** The time that a client has to read the remaining output, and then to close the connection. */
const FLUSH_MILLIS = 30_000;
const LINGER_MILLIS = 1000;

/** The operations that a lifetime needs of its connection. */
export interface LifetimeConnection {
  /** The number of open streams. */
  readonly size: number;
  /** Sends the first GOAWAY, which asks the client to use another connection. */
  sendShutdownNotice(): void;
  /** Sends the last GOAWAY. No further streams are accepted. */
  sendFinalGoaway(): void;
  /** Ends the connection after the remaining output. Calls `flushed` when the output has been sent. */
  end(flushed: () => void): void;
  destroy(): void;
}

/** Controls when and in which steps a connection ends. Uses a single timer. */
export class Lifetime {
  /** Serving; waiting for a moment to announce the shutdown; announced; announcement acknowledged; no new streams accepted; ended. */
  private phase: 'open' | 'leaving' | 'noticed' | 'acknowledged' | 'closing' | 'closed' = 'open';
  private greeted = false;
  private timer: Timer | undefined;
  private idleSince: number;
  private leaveBy = 0;

  constructor(
    private readonly connection: LifetimeConnection,
    private readonly clock: Clock,
    /** The time, in milliseconds, after which a connection without streams is closed. */
    private readonly idleMillis: number,
  ) {
    this.idleSince = clock.monotonic();
    this.arm(PREFACE_MILLIS);
  }

  get isClosed(): boolean {
    return this.phase === 'closed';
  }

  /** True if new streams are accepted. */
  get acceptsStreams(): boolean {
    return this.phase !== 'closing' && this.phase !== 'closed';
  }

  /** Called when the client has sent its first SETTINGS frame. */
  onFirstSettings(): void {
    this.greeted = true;
    this.arm(this.idleMillis);
  }

  /** Called when the client has opened a stream. */
  onStream(): void {
    if (this.phase !== 'leaving') return;
    this.arm(Math.min(QUIET_MILLIS, Math.max(0, this.leaveBy - this.clock.monotonic())));
  }

  /** Called when the last open stream has ended. */
  onIdle(): void {
    this.idleSince = this.clock.monotonic();
    if (this.phase === 'closing') this.finish();
    else if (this.phase === 'open' && this.timer === undefined) this.arm(this.idleMillis);
  }

  /** Announces the shutdown soon, when the client waits for responses. */
  shutdown(): void {
    if (this.phase !== 'open') return;
    this.phase = 'leaving';
    this.leaveBy = this.clock.monotonic() + LEAVE_MILLIS;
    this.arm(LEAVE_MILLIS);
  }

  /** Shuts down without an announcement. */
  shutdownAtOnce(): void {
    if (this.phase === 'open') this.refuseStreams();
  }

  /** Called when the client has acknowledged the notice. */
  onNoticeAcknowledged(): void {
    if (this.phase !== 'noticed') return;
    this.phase = 'acknowledged';
    this.arm(LATE_MILLIS);
  }

  /** Ends the connection once the remaining output has been sent. */
  finish(): void {
    this.phase = 'closed';
    this.arm(FLUSH_MILLIS);
    this.connection.end(() => this.arm(LINGER_MILLIS));
  }

  /** Called when the socket has closed. */
  onSocketClose(): void {
    this.phase = 'closed';
    this.disarm();
  }

  private announce(): void {
    this.phase = 'noticed';
    this.connection.sendShutdownNotice();
    this.arm(NOTICE_MILLIS);
  }

  /** Accepts no further streams. The connection ends with its last stream. */
  private refuseStreams(): void {
    this.phase = 'closing';
    this.disarm();
    this.connection.sendFinalGoaway();
    if (this.connection.size === 0) this.finish();
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
        else if (this.connection.size === 0) this.shutDownIfIdle();
        return;
      case 'leaving':
        this.announce();
        return;
      case 'noticed':
      case 'acknowledged':
        this.refuseStreams();
        return;
      case 'closing':
        return;
      case 'closed':
        this.connection.destroy();
    }
  };

  private shutDownIfIdle(): void {
    const left = this.idleSince + this.idleMillis - this.clock.monotonic();
    if (left > 0) this.arm(left);
    else this.announce();
  }
}
