import { sleep, systemClock, type Clock, type Timer } from '../../util/clock.js';
import { asError } from '../../util/error-message.js';
import { StorageError, type Undecodable } from '../errors.js';
import type { Health, LogEvent, Revision } from '../interfaces.js';
import type { StoreOutage } from '../outage.js';
import { WorkingSet, type WarmthStats } from './tree/working-set.js';
import { Budget, type BudgetStats } from './budget.js';
import { Deliveries } from './watch/deliveries.js';
import { History } from './watch/history.js';
import type { CachedType, Cacher, ResourceCache, TypeStats } from './interfaces.js';
import type { CachedBackend, Shared } from './shared.js';
import { WatchCache } from './watch-cache.js';
import { LoadWaits, NewestRevision, RevisionWaits } from './waits.js';

export interface CacherOptions {
  readonly backend: CachedBackend;
  readonly clock?: Clock;
  /** The limit for all derived bytes: joined and compressed blocks, tables, metadata. */
  readonly budgetBytes?: number;
  /** The budget itself, if several cachers share it. */
  readonly budget?: Budget;
  /** The limit for unpacked objects that a local file also has; by default half of `budgetBytes`. */
  readonly warmth?: WorkingSet;
  /** True if lists of an exact revision are answered from past states kept in memory (ListFromCacheSnapshot); the default. */
  readonly snapshots?: boolean;
  /** How long past states can be listed from memory, in milliseconds. */
  readonly snapshotMillis?: number;
  /** Limits for the recent events kept in memory, over all types. */
  readonly historyEvents?: number;
  readonly historyBytes?: number;
  /** The maximum time that recent events are kept in memory, in milliseconds. */
  readonly historyMillis?: number;
  /** The maximum time that a read waits for a revision or for a type to load, in milliseconds. */
  readonly waitMillis?: number;
  /** Tells whether the store is away, and limits how long reads wait for it. Absent if the store is local. */
  readonly outage?: Pick<StoreOutage, 'age' | 'within'> | undefined;
  /** The maximum number of reads waiting for types to load; further ones are rejected immediately. */
  readonly maxLoadWaits?: number;
  /** The maximum number of events that a watcher with a full transport may fall behind before it is ended. */
  readonly maxBacklog?: number;
  readonly maxWatchersPerType?: number;
  /** Returns the log's identity, which continue tokens carry. Absent if logs have no identity. */
  readonly logId?: () => string | undefined;
  /** Reads the log's identity again, before everything is loaded anew. */
  readonly renewLogId?: () => Promise<void>;
  /** Called for objects that cannot be decoded, when a type is loaded or an object is written: their number, and one of them. */
  readonly undecodable?: (resource: string, objects: number, one: Undecodable) => void;
  /** The maximum number of events of a type buffered during its load; beyond that the load starts over. */
  readonly maxPending?: number;
}

/** The state of the cacher, for metrics. */
export interface CacherStats {
  readonly budget: BudgetStats;
  readonly warmth: WarmthStats;
  readonly history: { readonly events: number; readonly bytes: number };
  /** The number of reads waiting for types to load, and of reads rejected so far. */
  readonly loads: { readonly waiting: number; readonly refused: number };
  readonly types: readonly TypeStats[];
}

export const DEFAULT_BUDGET_BYTES = 128 << 20;

const WAIT_MILLIS = 3_000;
/** Limits waiting watches, too, which do not count as requests in flight. */
const MAX_LOAD_WAITS = 10_000;
const TICK_MILLIS = 1_000;
const RETRY_MILLIS = 250;
const MAX_RETRY_MILLIS = 5_000;

/** The caches of all types, fed by one stream of the backend's events. */
export class StorageCacher implements Cacher {
  private readonly types = new Map<string, WatchCache>();
  private readonly stopping = new AbortController();
  private readonly shared: Shared;
  private following: Promise<void> | undefined;
  private timer: Timer | undefined;
  private trouble = 'the cache has not started';

  constructor(options: CacherOptions) {
    const { backend, clock = systemClock, budgetBytes = DEFAULT_BUDGET_BYTES } = options;
    const {
      historyEvents = 20_000,
      historyBytes = 24 << 20,
      historyMillis = Infinity,
      snapshotMillis = 75_000,
    } = options;
    const { waitMillis = WAIT_MILLIS, maxLoadWaits = MAX_LOAD_WAITS } = options;
    const { maxBacklog = 10_000, maxWatchersPerType = 100_000, maxPending = 50_000, snapshots = true } = options;
    this.shared = {
      backend,
      clock,
      budget: options.budget ?? new Budget(budgetBytes),
      warmth: options.warmth ?? new WorkingSet(budgetBytes / 2),
      history: new History(
        { maxEvents: historyEvents, maxBytes: historyBytes, snapshotMillis, changeMillis: historyMillis },
        clock,
      ),
      deliveries: new Deliveries(clock),
      waits: new RevisionWaits(clock, waitMillis),
      newest: new NewestRevision(backend),
      loadWaits: new LoadWaits(clock, waitMillis, maxLoadWaits),
      outage: options.outage,
      maxBacklog,
      maxWatchers: maxWatchersPerType,
      maxPending,
      snapshots,
      logId: options.logId,
      renewLogId: options.renewLogId,
      undecodable: options.undecodable,
    };
  }

  /** Starts to follow the log. Can be called again if it failed. */
  async start(): Promise<void> {
    if (this.following !== undefined) return;
    const { backend, waits } = this.shared;
    waits.advance(await backend.currentRevision());
    backend.knownRevisions?.consult((resource, key) => this.types.get(resource)?.knows(key));
    this.trouble = '';
    this.following = this.follow();
    this.tick();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.timer?.cancel();
    this.trouble = 'the cache is stopped';
    const closed = new StorageError('closed', this.trouble);
    for (const cache of this.types.values()) cache.close(closed);
    this.shared.waits.close(closed);
    await this.following;
  }

  add(type: CachedType): ResourceCache {
    if (this.following === undefined) throw new StorageError('closed', 'the cache has not started');
    let cache = this.types.get(type.resource);
    if (cache === undefined) {
      cache = new WatchCache(type, this.shared);
      this.types.set(type.resource, cache);
    } else {
      cache.retype(type);
    }
    return cache;
  }

  remove(resource: string): void {
    this.types.get(resource)?.close(new StorageError('closed', `${resource} is no longer served`));
    this.types.delete(resource);
    this.shared.backend.localStates?.of(resource)?.copy?.drop();
  }

  reload(resource: string): void {
    const cache = this.types.get(resource);
    cache?.unload();
    cache?.reload();
  }

  healthy(): Health {
    return { ok: this.trouble === '', reason: this.trouble };
  }

  stats(): CacherStats {
    const { budget, warmth, history, loadWaits } = this.shared;
    return {
      budget: budget.stats(),
      warmth: warmth.stats(),
      history: history.size(),
      loads: loadWaits.stats(),
      types: [...this.types.values()].map((cache) => cache.stats()),
    };
  }

  /** Follows the log. If the stream is lost, resumes it where it was, or reloads all types. */
  private async follow(): Promise<void> {
    const { signal } = this.stopping;
    let retry = RETRY_MILLIS;
    const connected = (): void => {
      this.trouble = '';
      retry = RETRY_MILLIS;
    };
    while (!signal.aborted) {
      const error = await this.followOnce(connected);
      if (error === undefined) continue;
      if (error instanceof StorageError && error.code === 'closed') {
        this.trouble = 'the store is closed';
        return;
      }
      this.trouble = `the cache is not following the store: ${error.message}`;
      const isLost = error instanceof StorageError && (error.code === 'compacted' || error.code === 'too-large');
      // Retry at once the first time. A store that loses its events repeatedly gets a pause.
      if (!isLost || !(await this.reloadAll()) || retry > RETRY_MILLIS) await sleep(this.shared.clock, retry, signal);
      retry = Math.min(retry * 2, MAX_RETRY_MILLIS);
    }
  }

  /** Follows the log until the stream ends. Returns the error, or undefined if there was none or the cacher was stopped. */
  private async followOnce(connected: () => void): Promise<Error | undefined> {
    try {
      for await (const batch of this.shared.backend.events(this.shared.waits.revision, this.stopping.signal)) {
        this.process(batch);
        connected();
      }
      return undefined;
    } catch (error) {
      if (this.stopping.signal.aborted) return undefined;
      return asError(error);
    }
  }

  /**
   * Reloads all types at the newest revision, because the changes in between are unknown. Until that revision is known, the old states stay
   * under their old revision. Every cache drops its state before the revision moves, and waiting reads are released only after that.
   */
  private async reloadAll(): Promise<boolean> {
    let revision: Revision;
    try {
      revision = await this.shared.backend.currentRevision();
      await this.shared.renewLogId?.();
    } catch {
      return false;
    }
    const caches = [...this.types.values()];
    for (const cache of caches) cache.unload();
    this.shared.waits.advance(revision);
    for (const cache of caches) cache.reload();
    this.shared.waits.release();
    this.trouble = '';
    return true;
  }

  private process(batch: readonly LogEvent[]): void {
    const events = this.newEvents(batch);
    const touched = new Set<WatchCache>();
    const failed = new Set<WatchCache>();
    for (const event of events) {
      const cache = this.types.get(event.resource);
      if (cache === undefined) continue;
      try {
        cache.take(event);
        touched.add(cache);
      } catch {
        // The cache cannot apply this event and must reload; the others continue.
        cache.unload();
        failed.add(cache);
      }
    }
    const last = events.at(-1);
    if (last !== undefined) this.shared.waits.advance(last.revision);
    for (const cache of failed) cache.reload();
    for (const cache of touched) cache.flush();
    this.shared.waits.release();
  }

  /** Returns the events that are not known yet. They must follow the known ones without a gap. */
  private newEvents(batch: readonly LogEvent[]): readonly LogEvent[] {
    const { revision } = this.shared.waits;
    const fresh = (batch[0]?.revision ?? 0) > revision ? batch : batch.filter((event) => event.revision > revision);
    fresh.forEach((event, i) => {
      if (event.revision === revision + 1 + i) return;
      const message = `the store delivered revision ${event.revision} after revision ${revision + i}`;
      throw new StorageError('compacted', message, { revision });
    });
    return fresh;
  }

  private tick(): void {
    this.timer = this.shared.clock.setTimer(TICK_MILLIS, () => {
      const now = this.shared.clock.monotonic();
      this.shared.history.expire(now);
      for (const cache of this.types.values()) {
        cache.sendBookmarks(now);
        cache.save();
      }
      this.tick();
    });
  }
}
