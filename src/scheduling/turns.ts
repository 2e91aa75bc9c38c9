/** Runs a callback in a later turn of the event loop, after the input that is waiting now was handled. */
type Later = (callback: () => void) => void;

/**
 * Gives turns of the event loop to work that may use up a slice: one to each, so that what others ask for in the meantime waits for one
 * slice and not for all of them. Among those who wait, flows (users) take turns, however much of it is one's.
 */
export class Turns {
  /** Those who wait, by flow, in the order in which the flows come next. */
  private readonly flows = new Map<string, (() => void)[]>();
  private taken = false;
  private count = 0;

  constructor(private readonly later: Later = setImmediate) {}

  get waiting(): number {
    return this.count;
  }

  /** The next turn that is the flow's. Undefined: it is this one. */
  take(flow: string): Promise<void> | undefined {
    if (this.taken) return this.wait(flow);
    this.taken = true;
    this.later(this.next);
    return undefined;
  }

  /** The same, but never this one. */
  wait(flow: string): Promise<void> {
    if (!this.taken) {
      this.taken = true;
      this.later(this.next);
    }
    this.count++;
    return new Promise((resolve) => {
      const waiting = this.flows.get(flow);
      if (waiting === undefined) this.flows.set(flow, [resolve]);
      else waiting.push(resolve);
    });
  }

  private readonly next = (): void => {
    for (const [flow, waiting] of this.flows) {
      this.flows.delete(flow);
      const begin = waiting.shift();
      if (waiting.length > 0) this.flows.set(flow, waiting);
      this.count--;
      begin?.();
      // After what it puts off itself.
      queueMicrotask(() => {
        this.later(this.next);
      });
      return;
    }
    this.taken = false;
  };
}

/** Those of this thread. */
export const turns = new Turns();
