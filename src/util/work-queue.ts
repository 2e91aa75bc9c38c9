import type { Clock } from './clock.js';
import { type WorkQueueMetrics, workQueueMetrics } from './metrics/work-queue-metrics.js';

export interface WorkQueueOptions {
  /** The name of the queue in the metrics. A queue that also exists in Kubernetes has its name there. */
  readonly name: string;
  readonly clock: Clock;
  /** Reconciles the object that the key names. If it fails, the key is requeued with exponential backoff. */
  reconcile(key: string): Promise<void>;
  readonly workers?: number;
  onError?(key: string, error: unknown): void;
}

const FIRST_DELAY_MILLIS = 5;
const LAST_DELAY_MILLIS = 60_000;
const SECOND = 1000;

/**
 * The work queue of a controller. A key that is added several times is processed once, never by two workers at a time, and again if it
 * was added while it was processed. The number of distinct keys bounds the queue.
 */
export class WorkQueue {
  /** The waiting keys, each with the monotonic time at which it was added. */
  private readonly waiting = new Map<string, number>();
  /** The keys being processed, each with the monotonic time at which processing began. */
  private readonly running = new Map<string, number>();
  private readonly requeued = new Map<string, number>();
  private readonly failures = new Map<string, number>();
  private readonly metrics: WorkQueueMetrics;
  private stopped = false;
  private idle: (() => void)[] = [];

  constructor(private readonly options: WorkQueueOptions) {
    const { name, clock } = options;
    const busySeconds = (): readonly number[] => {
      const now = clock.monotonic();
      return Array.from(this.running.values(), (since) => (now - since) / SECOND);
    };
    this.metrics = workQueueMetrics({ name, busySeconds });
  }

  get length(): number {
    return this.waiting.size + this.running.size;
  }

  add(key: string): void {
    if (this.stopped) return;
    const target = this.running.has(key) ? this.requeued : this.waiting;
    if (target.has(key)) return;
    target.set(key, this.options.clock.monotonic());
    this.metrics.adds.inc();
    if (target === this.waiting) this.metrics.depth.inc();
    this.pump();
  }

  addAfter(key: string, millis: number): void {
    this.metrics.retries.inc();
    this.options.clock.setTimer(millis, () => this.add(key));
  }

  /** Stops accepting keys. Resolves when the keys being processed are done. */
  stop(): Promise<void> {
    if (!this.stopped) this.metrics.depth.dec(this.waiting.size);
    this.stopped = true;
    this.waiting.clear();
    this.requeued.clear();
    if (this.running.size === 0) {
      this.metrics.end();
      return Promise.resolve();
    }
    return new Promise((resolve) => this.idle.push(resolve));
  }

  stopOn(signal: AbortSignal): void {
    signal.addEventListener('abort', () => void this.stop(), { once: true });
  }

  private pump(): void {
    const { clock, workers = 4 } = this.options;
    for (const [key, since] of this.waiting) {
      if (this.running.size >= workers) return;
      const now = clock.monotonic();
      this.metrics.depth.dec();
      this.metrics.queueDuration.observe((now - since) / SECOND);
      this.waiting.delete(key);
      this.running.set(key, now);
      void this.run(key, now);
    }
  }

  private async run(key: string, began: number): Promise<void> {
    try {
      await this.options.reconcile(key);
      this.failures.delete(key);
    } catch (error) {
      this.options.onError?.(key, error);
      const failures = (this.failures.get(key) ?? 0) + 1;
      this.failures.set(key, failures);
      this.addAfter(key, Math.min(LAST_DELAY_MILLIS, FIRST_DELAY_MILLIS * 2 ** Math.min(failures, 20)));
    }
    this.metrics.workDuration.observe((this.options.clock.monotonic() - began) / SECOND);
    this.running.delete(key);
    const since = this.requeued.get(key);
    this.requeued.delete(key);
    if (since !== undefined && !this.stopped) {
      this.waiting.set(key, since);
      this.metrics.depth.inc();
    }
    if (this.stopped && this.running.size === 0) {
      this.metrics.end();
      for (const resolve of this.idle) resolve();
      this.idle = [];
    }
    this.pump();
  }
}
