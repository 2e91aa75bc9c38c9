import type { Clock, Timer } from '../util/clock.js';
import { withTimeout } from '../util/with-timeout.js';
import { StorageError } from './errors.js';

/** The pauses between questions to the store, while it answers and while it does not, and how long an answer may take. */
const ASK_MILLIS = 1_000;
const ASK_AGAIN_MILLIS = 250;
const ANSWER_MILLIS = 1_500;
/** The maximum time that a request waits for the end of an outage. */
const WAIT_MILLIS = 2_750;
/** The interval at which requests that have waited too long are rejected. */
const EXPIRE_MILLIS = 250;
/** For this long, clients are told to try again: most failovers take less. Afterwards, requests fail at once. */
const FAILOVER_MILLIS = 15_000;

export interface StoreOutageOptions {
  readonly clock: Clock;
  /** The name of the store in messages. */
  readonly store: string;
  /** Called when an outage begins, and when it ends with its duration in milliseconds. */
  began(error: unknown): void;
  ended(millis: number): void;
}

interface Waiting {
  readonly since: number;
  reject(error: StorageError): void;
}

/** Knows whether a remote store answers, and limits how long requests wait for it while it does not (docs/design/outage.md). */
export class StoreOutage {
  /** When the store last answered, in monotonic milliseconds. */
  private answeredAt: number;
  private away = false;
  /** When the last outage ended. */
  private backAt = -Infinity;
  private cause: unknown;
  private asking: Timer | undefined;
  private expiring: Timer | undefined;
  private stopped = false;
  /** In the order of their arrival. */
  private readonly waiting = new Set<Waiting>();
  private readonly ends = new Set<() => void>();
  private readonly listeners = new Set<(millis: number) => void>();

  constructor(private readonly options: StoreOutageOptions) {
    this.answeredAt = options.clock.monotonic();
  }

  /** Starts to ask the store. */
  start(ping: () => Promise<void>): void {
    const { clock } = this.options;
    this.answeredAt = clock.monotonic();
    const ask = async (): Promise<void> => {
      try {
        await withTimeout(clock, ANSWER_MILLIS, ping());
        this.answered();
      } catch (error) {
        this.failed(error);
      }
      if (this.stopped) return;
      this.asking = clock.setTimer(this.away ? ASK_AGAIN_MILLIS : ASK_MILLIS, () => void ask());
    };
    this.asking = clock.setTimer(ASK_MILLIS, () => void ask());
  }

  stop(): void {
    this.stopped = true;
    this.asking?.cancel();
    this.expiring?.cancel();
    for (const entry of this.waiting) entry.reject(new StorageError('closed', 'the store is closed'));
    this.waiting.clear();
  }

  /** When the store last answered before the outage, in monotonic milliseconds; undefined while it answers. */
  get since(): number | undefined {
    return this.away ? this.answeredAt : undefined;
  }

  /** How long the store has not answered, in milliseconds; undefined while it does. */
  get age(): number | undefined {
    return this.away ? this.options.clock.monotonic() - this.answeredAt : undefined;
  }

  /** How long the store has answered since the last outage, in milliseconds; 0 during an outage. */
  get steadyMillis(): number {
    return this.away ? 0 : this.options.clock.monotonic() - this.backAt;
  }

  /** What an outage is called in messages. */
  get reason(): string {
    return `${this.options.store} has not answered for ${Math.round((this.age ?? 0) / 1_000)} s`;
  }

  /** True if the outage has lasted longer than a failover does. */
  get lasts(): boolean {
    return this.away && hasLasted(this.age ?? 0);
  }

  /** Calls the listener when an outage has ended, with its duration in milliseconds. */
  onEnd(listener: (millis: number) => void): void {
    this.listeners.add(listener);
  }

  /** Asks the store. During an outage, rejects after a limited time, or at once if the outage is old. */
  async within<T>(ask: () => Promise<T>): Promise<T> {
    if (this.lasts) throw this.error();
    let entry: Waiting | undefined;
    const limit = new Promise<never>((_resolve, reject) => {
      entry = { since: this.options.clock.monotonic(), reject: (error) => reject(error) };
      this.waiting.add(entry);
    });
    if (this.away) this.expireLater();
    const answer = ask();
    // Only one of the two is waited for in the end.
    answer.catch(() => undefined);
    try {
      return await Promise.race([answer, limit]);
    } finally {
      if (entry !== undefined) this.waiting.delete(entry);
    }
  }

  /** Resolves at once while the store answers, else when it does again; rejects as `within` does. */
  async passed(): Promise<void> {
    if (!this.away) return;
    let ended: () => void = () => undefined;
    try {
      await this.within(() => new Promise<void>((resolve) => this.ends.add((ended = resolve))));
    } finally {
      this.ends.delete(ended);
    }
  }

  private error(): StorageError {
    return new StorageError('unavailable', this.reason, { cause: this.cause, lasting: this.lasts });
  }

  private answered(): void {
    const now = this.options.clock.monotonic();
    const millis = now - this.answeredAt;
    this.answeredAt = now;
    if (!this.away) return;
    this.away = false;
    this.backAt = now;
    this.cause = undefined;
    this.options.ended(millis);
    for (const resolve of [...this.ends]) resolve();
    this.ends.clear();
    for (const listener of this.listeners) listener(millis);
  }

  private failed(error: unknown): void {
    if (this.stopped) return;
    this.cause = error;
    if (this.away) return;
    this.away = true;
    this.options.began(error);
    this.expireLater();
  }

  private expireLater(): void {
    this.expiring ??= this.options.clock.setTimer(EXPIRE_MILLIS, () => {
      this.expiring = undefined;
      if (!this.away || this.stopped) return;
      const now = this.options.clock.monotonic();
      for (const entry of this.waiting) {
        if (!this.lasts && now - entry.since < WAIT_MILLIS - EXPIRE_MILLIS) break;
        this.waiting.delete(entry);
        entry.reject(this.error());
      }
      if (this.waiting.size > 0) this.expireLater();
    });
  }
}

/** Reports whether an outage of this duration was more than a failover. */
export const hasLasted = (millis: number): boolean => millis >= FAILOVER_MILLIS;

/** Reports whether a write that arrived at a time has waited longer than an outage allows. */
export function hasWaited(outage: Pick<StoreOutage, 'age'>, sinceMillis: number, now: number): boolean {
  return outage.age !== undefined && now - sinceMillis >= WAIT_MILLIS - EXPIRE_MILLIS;
}
