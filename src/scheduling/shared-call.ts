/** A call for several callers, which is canceled when all of them have left. */
export class SharedCall<T> {
  /** The result for everyone. */
  readonly outcome: Promise<T>;
  private readonly controller = new AbortController();
  private callers = 0;

  constructor(call: (canceled: AbortSignal) => Promise<T>) {
    this.outcome = Promise.resolve().then(() => call(this.controller.signal));
  }

  get canceled(): boolean {
    return this.controller.signal.aborted;
  }

  /** Resolves with the outcome or, if the caller leaves while others wait, with that of `left`. */
  async join(signal: AbortSignal, left: () => T): Promise<T> {
    this.callers++;
    let onAbort = (): void => undefined;
    const gone = new Promise<T>((resolve) => {
      onAbort = () => {
        if (--this.callers === 0) this.controller.abort();
        else resolve(left());
      };
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([this.outcome, gone]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }
}
