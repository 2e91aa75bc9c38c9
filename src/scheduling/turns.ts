import { append } from '../util/append.js';

/** Runs a callback in a later turn of the event loop, after the pending input was handled. */
type Defer = (callback: () => void) => void;

/**
 * Assigns turns of the event loop to work that may use up a slice: one turn each, so that other requests wait for one slice and not for all
 * of them. The waiting flows (users) take turns, however much work one of them has.
 */
export class Turns {
  /** The waiting work by flow, in the order in which the flows get their next turn. */
  private readonly flows = new Map<string, (() => void)[]>();
  private taken = false;
  private count = 0;

  constructor(private readonly defer: Defer = setImmediate) {}

  get waiting(): number {
    return this.count;
  }

  /** Returns a promise for the next turn of the flow, or undefined if the caller gets the current turn. */
  take(flow: string): Promise<void> | undefined {
    if (this.taken) return this.wait(flow);
    this.taken = true;
    this.defer(this.next);
    return undefined;
  }

  /** Returns a promise for the next turn of the flow, which is never the current one. */
  wait(flow: string): Promise<void> {
    if (!this.taken) {
      this.taken = true;
      this.defer(this.next);
    }
    this.count++;
    return new Promise((resolve) => append(this.flows, flow, resolve));
  }

  private readonly next = (): void => {
    for (const [flow, waiting] of this.flows) {
      this.flows.delete(flow);
      const begin = waiting.shift();
      if (waiting.length > 0) this.flows.set(flow, waiting);
      this.count--;
      begin?.();
      // Runs after the callbacks that this work defers itself.
      queueMicrotask(() => this.defer(this.next));
      return;
    }
    this.taken = false;
  };
}

/** The turns of this thread. */
export const turns = new Turns();
