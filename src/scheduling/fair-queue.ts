import { type TimerWheel, WheelEntry } from '../util/timer-wheel.js';
import { FairFlows } from './fair-flows.js';

/** The reason why a request got no seat, in kube-apiserver's terms. */
export type RejectReason = 'queue-full' | 'time-out' | 'cancelled';

export interface FairQueueOptions {
  /** The maximum number of requests in flight; 0 means no limit. */
  readonly seats: number;
  /** The maximum time that a request waits for a seat, in milliseconds. */
  readonly waitMillis: number;
  /** The maximum number of seats of one flow. By default a flow leaves a quarter of the seats to others. */
  readonly flowSeats?: number;
  /** The maximum number of waiting requests, of all flows and of one. */
  readonly maxQueued?: number;
  readonly maxQueuedPerFlow?: number;
  readonly wheel: TimerWheel;
  readonly clock: { monotonic(): number };
}

/** The maximum number of waiting requests of a flow, the same as in a queue of kube-apiserver. */
const FLOW_QUEUE_LENGTH = 50;
/** The maximum number of waiting requests of all flows. */
const MAX_WAITING = 1000;
/** A flow leaves one in this many seats to others, even while they do not need them, because requests may hang for long. */
const RESERVED_SEATS_DIVISOR = 4;

/** A request that waits for a seat. */
class QueuedRequest extends WheelEntry {
  constructor(
    /** Called with undefined if the request has a seat. */
    readonly settle: (refusal: RejectReason | undefined) => void,
    private readonly onTimeout: (ticket: QueuedRequest) => void,
  ) {
    super();
  }

  override expire(): void {
    this.onTimeout(this);
  }
}

/**
 * Assigns seats to requests in flight. While there are too few, requests wait in the queue of their flow (their user). A freed
 * seat goes to the flow with the fewest, so that a flood from one flow leaves the others what they need. Queues are bounded in
 * length and time.
 */
export class FairQueue {
  private readonly flows: FairFlows<QueuedRequest>;
  private taken = 0;
  private readonly maxQueued: number;
  private readonly maxQueuedPerFlow: number;

  constructor(private readonly options: FairQueueOptions) {
    const { seats, maxQueued = MAX_WAITING, maxQueuedPerFlow = FLOW_QUEUE_LENGTH, flowSeats } = options;
    const fair = Math.max(1, seats - Math.floor(seats / RESERVED_SEATS_DIVISOR));
    this.flows = new FairFlows({ maxRunningPerFlow: seats > 0 ? (flowSeats ?? fair) : Infinity });
    this.maxQueued = maxQueued;
    this.maxQueuedPerFlow = maxQueuedPerFlow;
  }

  get running(): number {
    return this.taken;
  }

  get queued(): number {
    return this.flows.waiting;
  }

  /** The number of flows with running or waiting requests. */
  get size(): number {
    return this.flows.size;
  }

  /** Takes a seat for a request of the flow, if one is available to it and no request of the flow is waiting. */
  tryEnter(flow: string): boolean {
    const { seats } = this.options;
    if ((seats > 0 && this.taken >= seats) || !this.flows.tryStart(flow)) return false;
    this.taken++;
    return true;
  }

  /** Waits for a seat. Resolves with undefined once the request has one. */
  wait(flow: string, signal?: AbortSignal): Promise<RejectReason | undefined> {
    const { flows } = this;
    if (flows.waitingOf(flow) >= this.maxQueuedPerFlow || flows.waiting >= this.maxQueued)
      return Promise.resolve('queue-full');
    if (signal?.aborted === true) return Promise.resolve('cancelled');
    return new Promise((resolve) => {
      const reject = (refusal: RejectReason): void => {
        flows.remove(flow, ticket);
        ticket.settle(refusal);
      };
      const onAbort = (): void => reject('cancelled');
      const ticket = new QueuedRequest(
        (refusal) => {
          ticket.unschedule();
          signal?.removeEventListener('abort', onAbort);
          resolve(refusal);
        },
        () => reject('time-out'),
      );
      signal?.addEventListener('abort', onAbort, { once: true });
      flows.push(flow, ticket);
      this.options.wheel.schedule(ticket, this.options.clock.monotonic() + this.options.waitMillis);
    });
  }

  /** Releases the seat of a request of the flow. */
  release(flow: string): void {
    this.taken--;
    this.flows.finish(flow);
    while (this.flows.waiting > 0 && this.taken < this.options.seats) {
      const next = this.flows.take();
      if (next === undefined) return;
      this.taken++;
      next.item.settle(undefined);
    }
  }
}
