/** Processes items in batches by key: while one batch of a key is processed, further items of the key wait for the next one. */
export class Batches<T> {
  /** Waiting items; a key is here while one of its batches is processed. */
  private readonly waiting = new Map<string, T[]>();

  constructor(
    private readonly process: (key: string, batch: readonly T[]) => Promise<void>,
    /** Called for each item of a batch that could not be processed. */
    private readonly failed: (item: T, error: unknown) => void,
  ) {}

  add(key: string, item: T): void {
    const queue = this.waiting.get(key);
    if (queue !== undefined) {
      queue.push(item);
      return;
    }
    this.waiting.set(key, [item]);
    void this.drain(key);
  }

  private async drain(key: string): Promise<void> {
    for (let batch = this.waiting.get(key) ?? []; batch.length > 0; batch = this.waiting.get(key) ?? []) {
      this.waiting.set(key, []);
      await this.process(key, batch).catch((error: unknown) => {
        for (const item of batch) this.failed(item, error);
      });
    }
    this.waiting.delete(key);
  }
}
