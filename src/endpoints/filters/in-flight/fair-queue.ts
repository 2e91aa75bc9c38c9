import { type TimerWheel, WheelEntry } from '../../../util/timer-wheel.js';

/** The reason why a request got no seat, in kube-apiserver's terms. */
export type RejectReason = 'queue-full' | 'time-out' | 'cancelled';

export interface FairQueueOptions {
  /** The maximum number of requests in flight; 0 means no limit. */
  readonly seats: number;
  /** The maximum time that a request waits for a seat, in milliseconds. */
  readonly waitMillis: number;
  readonly wheel: TimerWheel;
  readonly clock: { monotonic(): number };
}

/** The maximum number of waiting requests of a flow, the same as in a queue of kube-apiserver. */
const FLOW_QUEUE_LENGTH = 50;
/** The maximum number of waiting requests of all flows. */
const MAX_WAITING = 1000;
/** A flow leaves one in this many seats to others, even while they do not need them, because requests may hang for long. */
const RESERVED_SEATS_DIVISOR = 4;

/** The executing and waiting requests of one user. */
interface Flow {
  running: number;
  readonly waiting: QueuedRequest[];
}

/** A request that waits for a seat. */
class QueuedRequest extends WheelEntry {
  constructor(
    readonly flow: string,
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
  private readonly flows = new Map<string, Flow>();
  private taken = 0;
  private waiting = 0;
  private readonly maxSeatsPerFlow: number;

  constructor(private readonly options: FairQueueOptions) {
    const { seats } = options;
    this.maxSeatsPerFlow = Math.max(1, seats - Math.floor(seats / RESERVED_SEATS_DIVISOR));
  }

  get running(): number {
    return this.taken;
  }

  get queued(): number {
    return this.waiting;
  }

  /** Takes a seat for a request of the flow, if one is available to it and no request of the flow is waiting. */
  tryEnter(flow: string): boolean {
    const { seats } = this.options;
    if (seats > 0 && this.taken >= seats) return false;
    let known = this.flows.get(flow);
    if (known === undefined) {
      known = { running: 0, waiting: [] };
      this.flows.set(flow, known);
    } else if (seats > 0 && (known.running >= this.maxSeatsPerFlow || known.waiting.length > 0)) return false;
    known.running++;
    this.taken++;
    return true;
  }

  /** Waits for a seat. Resolves with undefined once the request has one. */
  wait(flow: string, signal: AbortSignal): Promise<RejectReason | undefined> {
    const known = this.flows.get(flow) ?? { running: 0, waiting: [] };
    if (known.waiting.length >= FLOW_QUEUE_LENGTH || this.waiting >= MAX_WAITING) return Promise.resolve('queue-full');
    if (signal.aborted) return Promise.resolve('cancelled');
    this.flows.set(flow, known);
    this.waiting++;
    return new Promise((resolve) => {
      const reject = (refusal: RejectReason): void => {
        known.waiting.splice(known.waiting.indexOf(ticket), 1);
        this.waiting--;
        this.forget(flow, known);
        ticket.settle(refusal);
      };
      const onAbort = (): void => reject('cancelled');
      const ticket = new QueuedRequest(
        flow,
        (refusal) => {
          ticket.unschedule();
          signal.removeEventListener('abort', onAbort);
          resolve(refusal);
        },
        () => reject('time-out'),
      );
      signal.addEventListener('abort', onAbort, { once: true });
      known.waiting.push(ticket);
      this.options.wheel.schedule(ticket, this.options.clock.monotonic() + this.options.waitMillis);
    });
  }

  /** Releases the seat of a request of the flow. */
  release(flow: string): void {
    const known = this.flows.get(flow);
    if (known === undefined) return;
    known.running--;
    this.taken--;
    if (this.waiting > 0) this.dispatch();
    this.forget(flow, known);
  }

  /** Assigns free seats to waiting requests. */
  private dispatch(): void {
    while (this.taken < this.options.seats) {
      const next = this.flowWithFewestSeats();
      const ticket = next?.waiting.shift();
      if (next === undefined || ticket === undefined) return;
      next.running++;
      this.taken++;
      this.waiting--;
      // Move the flow to the end, so that among flows with equally many seats another one is next.
      this.flows.delete(ticket.flow);
      this.flows.set(ticket.flow, next);
      ticket.settle(undefined);
    }
  }

  /** Returns the waiting flow with the fewest seats. */
  private flowWithFewestSeats(): Flow | undefined {
    let found: Flow | undefined;
    for (const flow of this.flows.values()) {
      if (flow.waiting.length === 0 || flow.running >= this.maxSeatsPerFlow) continue;
      if (found === undefined || flow.running < found.running) found = flow;
    }
    return found;
  }

  private forget(name: string, { running, waiting }: Flow): void {
    if (running === 0 && waiting.length === 0) this.flows.delete(name);
  }
}
