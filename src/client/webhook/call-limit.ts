import type { Cancellation } from '../../util/cancellation.js';
import { systemClock, type Timer } from '../../util/clock.js';

/**
 * Determines when a call has to end: after its timeout, or with the request that makes it. Node's own composition of signals costs as much
 * as all the rest of a short call.
 */
export class CallLimit {
  private readonly timer: Timer;
  private over: Error | undefined;
  /** True if the call ended because its time was over. */
  timedOut = false;
  private listener: ((error: Error) => void) | undefined;
  private controller: AbortController | undefined;

  constructor(
    timeoutMillis: number,
    private readonly caller: Cancellation,
  ) {
    this.timer = systemClock.setTimer(timeoutMillis, () => this.end('timeout'));
    if (caller.aborted) this.end('abort');
    else caller.addEventListener('abort', this.onAbort);
  }

  /** Throws if the call is over. */
  check(): void {
    if (this.over !== undefined) throw this.over;
  }

  /** Calls the listener when the call is over; replaces the previous listener. */
  onOver(listener: (error: Error) => void): void {
    this.listener = listener;
  }

  /** Returns a signal, for functions that accept nothing else. */
  signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.over !== undefined) this.controller.abort();
    return this.controller.signal;
  }

  /** Releases the timer and the listeners after the call has ended. */
  release(): void {
    this.timer.cancel();
    this.caller.removeEventListener('abort', this.onAbort);
    this.listener = undefined;
  }

  private readonly onAbort = (): void => this.end('abort');

  private end(cause: 'timeout' | 'abort'): void {
    if (this.over !== undefined) return;
    this.over = new Error('This operation was aborted');
    this.timedOut = cause === 'timeout';
    this.controller?.abort();
    this.listener?.(this.over);
  }
}
