import type { Clock } from '../util/clock.js';
import { TimerWheel } from '../util/timer-wheel.js';
import { FairQueue } from './fair-queue.js';

export interface BoundedCallsOptions {
  readonly clock: Clock;
  /** The maximum number of concurrent calls, and of those of one flow (by default three quarters). */
  readonly max: number;
  readonly maxPerFlow?: number;
  readonly maxWaiting?: number;
  readonly maxWaitingPerFlow?: number;
  /** The maximum time that a call waits for others, in milliseconds. */
  readonly waitMillis: number;
}

/** Bounds the concurrent calls to another server. Beyond the bound, calls wait in fair queues and fail when they wait too long. */
export class BoundedCalls {
  private readonly queue: FairQueue;

  constructor({ clock, max, maxPerFlow, maxWaiting, maxWaitingPerFlow, waitMillis }: BoundedCallsOptions) {
    this.queue = new FairQueue({
      seats: max,
      waitMillis,
      wheel: new TimerWheel(clock),
      clock,
      ...(maxPerFlow === undefined ? {} : { flowSeats: maxPerFlow }),
      ...(maxWaiting === undefined ? {} : { maxQueued: maxWaiting }),
      ...(maxWaitingPerFlow === undefined ? {} : { maxQueuedPerFlow: maxWaitingPerFlow }),
    });
  }

  /** Makes a call. Throws an Error if too many others are waiting. */
  async run<T>(flow: string, call: () => Promise<T>): Promise<T> {
    const { queue } = this;
    if (!queue.tryEnter(flow)) {
      const refusal = await queue.wait(flow);
      if (refusal !== undefined) throw new Error(`too many calls in progress (${refusal})`);
    }
    try {
      return await call();
    } finally {
      queue.release(flow);
    }
  }
}
