/** The running and waiting work of one user. */
interface Flow<T> {
  running: number;
  /** When the flow was last taken from, in takes of all flows. */
  last: number;
  /** The total weight of the waiting items. */
  weight: number;
  readonly waiting: Set<T>;
}

/** An item and the flow that it belongs to. */
export interface Taken<T> {
  readonly flow: string;
  readonly item: T;
}

export interface FairFlowsOptions<T> {
  /** The maximum number of items of one flow that run at the same time. The default is no maximum. */
  readonly maxRunningPerFlow?: number;
  /** Returns the weight of an item. The default weight is 1. */
  weigh?(item: T): number;
}

/**
 * The order in which waiting work is taken: from the flow (the user) with the least running work and, among those, from the one
 * that was taken from the longest time ago. However much one flow has waiting, each other flow is next after at most one of its items.
 */
export class FairFlows<T> {
  /** The flows with running or waiting work. */
  private readonly flows = new Map<string, Flow<T>>();
  private readonly maxRunning: number;
  private count = 0;
  private total = 0;
  private takes = 0;

  constructor(private readonly options: FairFlowsOptions<T> = {}) {
    this.maxRunning = options.maxRunningPerFlow ?? Infinity;
  }

  /** The number of waiting items. */
  get waiting(): number {
    return this.count;
  }

  /** The total weight of the waiting items. */
  get weight(): number {
    return this.total;
  }

  /** The number of flows with running or waiting work. */
  get size(): number {
    return this.flows.size;
  }

  waitingOf(flow: string): number {
    return this.flows.get(flow)?.waiting.size ?? 0;
  }

  weightOf(flow: string): number {
    return this.flows.get(flow)?.weight ?? 0;
  }

  /** Starts an item of the flow at once, unless others of the flow wait or as many run as may. */
  tryStart(flow: string): boolean {
    const known = this.of(flow);
    if (known.waiting.size > 0 || known.running >= this.maxRunning) return false;
    known.running++;
    known.last = ++this.takes;
    return true;
  }

  push(flow: string, item: T): void {
    const known = this.of(flow);
    const weight = this.weigh(item);
    known.waiting.add(item);
    known.weight += weight;
    this.count++;
    this.total += weight;
  }

  /** Takes the next item, which then runs until `finish`. Returns undefined if no item waits that may run. */
  take(): Taken<T> | undefined {
    const flow = this.next();
    if (flow === undefined) return undefined;
    const known = this.of(flow);
    const [item] = known.waiting as Iterable<T> as [T];
    this.drop(known, item);
    known.running++;
    known.last = ++this.takes;
    return { flow, item };
  }

  /** Ends an item of the flow that was started or taken. */
  finish(flow: string): void {
    const known = this.flows.get(flow);
    if (known === undefined) return;
    known.running--;
    this.forget(flow, known);
  }

  /** Removes a waiting item. Returns false if it does not wait. */
  remove(flow: string, item: T): boolean {
    const known = this.flows.get(flow);
    if (known?.waiting.has(item) !== true) return false;
    this.drop(known, item);
    this.forget(flow, known);
    return true;
  }

  private drop(known: Flow<T>, item: T): void {
    const weight = this.weigh(item);
    known.waiting.delete(item);
    known.weight -= weight;
    this.count--;
    this.total -= weight;
  }

  private weigh(item: T): number {
    return this.options.weigh?.(item) ?? 1;
  }

  private next(): string | undefined {
    let found: string | undefined;
    let least: Pick<Flow<T>, 'running' | 'last'> = { running: this.maxRunning, last: -Infinity };
    for (const [name, flow] of this.flows) {
      if (flow.waiting.size === 0 || flow.running > least.running) continue;
      if (flow.running === least.running && flow.last >= least.last) continue;
      found = name;
      least = flow;
    }
    return found;
  }

  private of(name: string): Flow<T> {
    let flow = this.flows.get(name);
    if (flow === undefined) {
      // Ahead of the flow that was taken from last, and behind those that have waited since before that.
      flow = { running: 0, last: this.takes - 0.5, weight: 0, waiting: new Set() };
      this.flows.set(name, flow);
    }
    return flow;
  }

  private forget(name: string, { running, waiting }: Flow<T>): void {
    if (running === 0 && waiting.size === 0) this.flows.delete(name);
  }
}
