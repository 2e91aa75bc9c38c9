import type { Clock } from './clock.js';

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** Brings what the key names into the wanted state; what it throws makes it come again, later each time. */
  work(key: string): Promise<void>;
  readonly workers?: number;
  onError?(key: string, error: unknown): void;
}

const FIRST_DELAY_MILLIS = 5;
const LAST_DELAY_MILLIS = 60_000;

/**
 * The queue of a controller: a key that is added several times is worked on once, never by two at a time, and again if it
 * was added meanwhile. Bounded by the number of distinct keys.
 */
export class WorkQueue {
  private readonly waiting = new Set<string>();
  private readonly running = new Set<string>();
  private readonly again = new Set<string>();
  private readonly failures = new Map<string, number>();
  private stopped = false;
  private idle: (() => void)[] = [];

  constructor(private readonly options: WorkQueueOptions) {}

  get length(): number {
    return this.waiting.size + this.running.size;
  }

  add(key: string): void {
    if (this.stopped) return;
    if (this.running.has(key)) this.again.add(key);
    else this.waiting.add(key);
    this.pump();
  }

  addAfter(key: string, millis: number): void {
    this.options.clock.setTimer(millis, () => {
      this.add(key);
    });
  }

  /** Takes no more work; resolves when what is under way has finished. */
  stop(): Promise<void> {
    this.stopped = true;
    this.waiting.clear();
    this.again.clear();
    if (this.running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.idle.push(resolve));
  }

  private pump(): void {
    const workers = this.options.workers ?? 4;
    for (const key of this.waiting) {
      if (this.running.size >= workers) return;
      this.waiting.delete(key);
      this.running.add(key);
      void this.run(key);
    }
  }

  private async run(key: string): Promise<void> {
    try {
      await this.options.work(key);
      this.failures.delete(key);
    } catch (error) {
      this.options.onError?.(key, error);
      const failures = (this.failures.get(key) ?? 0) + 1;
      this.failures.set(key, failures);
      this.addAfter(key, Math.min(LAST_DELAY_MILLIS, FIRST_DELAY_MILLIS * 2 ** Math.min(failures, 20)));
    }
    this.running.delete(key);
    if (this.again.delete(key) && !this.stopped) this.waiting.add(key);
    if (this.stopped && this.running.size === 0) {
      for (const resolve of this.idle) resolve();
      this.idle = [];
    }
    this.pump();
  }
}
