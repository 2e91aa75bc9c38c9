/** Signals that an operation is canceled. This is the part of an AbortSignal that costs next to nothing. */
export interface Cancellation {
  readonly aborted: boolean;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** Returns a promise that settles like a shared one, unless the signal aborts first: then it rejects with `reason`. */
export function untilAborted<T>(shared: Promise<T>, signal: AbortSignal, reason: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(reason());
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    shared.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** A cancellation for the many requests that never need an AbortSignal: that is created on first use. */
export class LazySignal implements Cancellation {
  private isAborted = false;
  private readonly listeners = new Set<() => void>();
  private controller: AbortController | undefined;

  constructor(private readonly reason: Error) {}

  get aborted(): boolean {
    return this.isAborted;
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.isAborted) this.controller.abort(this.reason);
    }
    return this.controller.signal;
  }

  throwIfAborted(): void {
    if (this.isAborted) throw this.reason;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.listeners.delete(listener);
  }

  abort(): void {
    if (this.isAborted) return;
    this.isAborted = true;
    this.controller?.abort(this.reason);
    for (const listener of [...this.listeners]) listener();
    this.listeners.clear();
  }
}
