/** Up to this length, a response counts alone: reviews are small, and large responses of others must not make them fail. */
const FREE_BYTES = 1 << 20;

/** Limits the bytes of all large responses that are being received. */
export class AnswerBudget {
  private taken = 0;

  constructor(private readonly maxBytes: number) {}

  /** Begins a response of at most this many bytes. */
  begin(maxBytes: number): AnswerShare {
    return new AnswerShare(maxBytes, (bytes) => {
      if (bytes > 0 && this.taken + bytes > this.maxBytes) return false;
      this.taken += bytes;
      return true;
    });
  }
}

/** What one response may take of the budget. */
export class AnswerShare {
  private taken = 0;

  constructor(
    private readonly maxBytes: number,
    private readonly take: (bytes: number) => boolean,
  ) {}

  /** Throws if the response has become too long. */
  check(length: number): void {
    if (length > this.maxBytes) throw new Error(`the response exceeds ${this.maxBytes} bytes`);
    const wanted = Math.max(0, length - FREE_BYTES);
    if (!this.take(wanted - this.taken)) throw new Error('other responses of webhooks take too much memory');
    this.taken = wanted;
  }

  release(): void {
    this.take(-this.taken);
    this.taken = 0;
  }
}

/** Two responses of the maximum length, for all webhooks of this process. */
export const answerBudget = new AnswerBudget(128 << 20);
