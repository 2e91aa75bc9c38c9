import type { Revision } from '../../storage/interfaces.js';
import type { Change } from './collection.js';

/** So many changes wait at most: whoever reads them waits, too. */
const MOST = 2_000;

export interface ChangeBatchesOptions {
  keyOf(change: Change): string;
  apply(changes: readonly Change[]): Promise<void>;
  /** All up to a revision has been applied. */
  applied(revision: Revision): void;
}

/** Changes that come in while others are applied are applied together: of each object the last one. */
export class ChangeBatches {
  private waiting = new Map<string, Change>();
  private received: Revision = 0;
  private running: Promise<void> | undefined;
  private failure: Error | undefined;

  constructor(private readonly options: ChangeBatchesOptions) {}

  get size(): number {
    return this.waiting.size;
  }

  /** Resolves when more may come. Throws what applying earlier ones has thrown. */
  async take(change: Change, revision: Revision): Promise<void> {
    if (change.type !== 'BOOKMARK') this.waiting.set(this.options.keyOf(change), change);
    this.received = revision;
    this.begin();
    if (this.waiting.size >= MOST) await this.idle();
    if (this.failure !== undefined) throw this.failure;
  }

  /** Resolves when all has been applied. */
  async idle(): Promise<void> {
    await this.running;
    if (this.failure !== undefined) throw this.failure;
  }

  private begin(): void {
    if (this.running !== undefined || this.failure !== undefined) return;
    this.running = this.run()
      .catch((error: unknown) => {
        this.failure = error instanceof Error ? error : new Error(String(error));
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
    this.options.applied(this.received);
  }
}
