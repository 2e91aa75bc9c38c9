import type { Revision } from '../../storage/interfaces.js';
import { asError } from '../../util/error-message.js';
import type { Change } from './collection.js';

/** The maximum number of pending changes; beyond it, the reader waits. */
const MOST = 2_000;

export interface ChangeBatchesOptions {
  keyOf(change: Change): string;
  apply(changes: readonly Change[]): Promise<void>;
  /** Called when all changes up to a revision have been applied. */
  onApplied(revision: Revision): void;
}

/** Batches the changes that arrive while others are applied; of each object, only the last one is applied. */
export class ChangeBatches {
  private waiting = new Map<string, Change>();
  private received: Revision = 0;
  private running: Promise<void> | undefined;
  private failure: Error | undefined;

  constructor(private readonly options: ChangeBatchesOptions) {}

  get size(): number {
    return this.waiting.size;
  }

  /** Adds a change. Resolves when the next one may be added; throws if an earlier batch failed. */
  async take(change: Change, revision: Revision): Promise<void> {
    if (change.type !== 'BOOKMARK') this.waiting.set(this.options.keyOf(change), change);
    this.received = revision;
    this.begin();
    if (this.waiting.size >= MOST) await this.idle();
    if (this.failure !== undefined) throw this.failure;
  }

  /** Resolves when all pending changes have been applied. */
  async idle(): Promise<void> {
    await this.running;
    if (this.failure !== undefined) throw this.failure;
  }

  private begin(): void {
    if (this.running !== undefined || this.failure !== undefined) return;
    this.running = this.run()
      .catch((error: unknown) => {
        this.failure = asError(error);
      })
      .finally(() => {
        this.running = undefined;
      });
  }

  private async run(): Promise<void> {
    while (this.waiting.size > 0) {
      const taken = this.waiting;
      this.waiting = new Map();
      await this.options.apply([...taken.values()]);
    }
    this.options.onApplied(this.received);
  }
}
