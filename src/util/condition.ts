/** Something that many wait for, like Go's sync.Cond. */
export class Condition {
  private readonly waiting = new Set<() => void>();

  /** Resolves at the next `broadcast`, or when the signal aborts. The caller then checks what it waits for. */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
      if (signal.aborted) done();
    });
  }

  broadcast(): void {
    for (const done of [...this.waiting]) done();
  }
}
