import { TtlCache, type TtlCacheOptions } from '../util/caches/ttl-cache.js';
import { BoundedCalls, type BoundedCallsOptions } from './bounded-calls.js';

/** A call for several callers, which is canceled when all of them have left. */
class SharedCall<T> {
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

export type CachedCallsOptions<T> = TtlCacheOptions<T> & Omit<BoundedCallsOptions, 'clock'>;

/**
 * Answers of another server. They are cached by key, callers with the same key share one call, and concurrent calls are bounded in number,
 * so that flows take turns.
 */
export class CachedCalls<T> {
  private readonly answers: TtlCache<T>;
  private readonly bound: BoundedCalls;
  private readonly inProgress = new Map<string, SharedCall<T>>();

  constructor(options: CachedCallsOptions<T>) {
    this.answers = new TtlCache(options);
    this.bound = new BoundedCalls(options);
  }

  /** The size of the cache. */
  get cached(): { readonly size: number; readonly weight: number } {
    return this.answers;
  }

  known(key: string): T | undefined {
    return this.answers.get(key);
  }

  /** Caches an answer for `millis` milliseconds; 0: not at all. */
  remember(key: string, answer: T, millis: number): void {
    this.answers.set(key, answer, millis);
  }

  /** Returns the call of the key that is in progress, or begins one. */
  shared(key: string, begin: (canceled: AbortSignal) => Promise<T>): SharedCall<T> {
    const current = this.inProgress.get(key);
    // A call that all its callers have left is ending.
    if (current !== undefined && !current.canceled) return current;
    const call = new SharedCall(begin);
    this.inProgress.set(key, call);
    const ended = (): void => {
      if (this.inProgress.get(key) === call) this.inProgress.delete(key);
    };
    call.outcome.then(ended, ended);
    return call;
  }

  /** Calls the server when there is a place for the flow. Throws an Error if too many others are waiting. */
  run<R>(flow: string, call: () => Promise<R>): Promise<R> {
    return this.bound.run(flow, call);
  }
}
