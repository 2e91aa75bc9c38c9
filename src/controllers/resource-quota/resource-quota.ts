import { objectAt } from '../../apimachinery/json/json.js';
import { isEqual, resourceList, toJson } from '../../quota/resource-list.js';
import { splitKey as storeKey } from '../../registry/generic/store/resource-store.js';
import { WATCH_ALL, watchToItsEnd } from '../../registry/generic/loopback/watch-to-end.js';
import type { ApiRegistry } from '../../registry/generic/store/api-registry.js';
import type { LoopbackClient, LoopbackClients } from '../../registry/rest/loopback-client.js';
import type { WatchEvent } from '../../storage/cacher/interfaces.js';
import { type Clock, sleep } from '../../util/clock.js';
import { WorkQueue } from '../../util/work-queue.js';
import { isOvertaken } from '../errors.js';
import { TypeWatches } from '../type-watches.js';
import { keyOf, splitKey } from '../garbage-collector/object-cache.js';
import { measure, type MeasuredType, measuredTypes } from './measure.js';
import { QuotaIndex } from './quota-index.js';

export interface ResourceQuotaOptions {
  readonly registry: ApiRegistry;
  readonly clients: LoopbackClients;
  readonly clock: Clock;
  onError(what: string, error: unknown): void;
}

const QUOTAS = { group: '', resource: 'resourcequotas' };
/** How often all quotas are recounted, as in kube-controller-manager. */
const RESYNC_MILLIS = 300_000;
/** Changes within this time lead to one count, and counting takes a twentieth of the time at most. */
const GATHER_MILLIS = 50;
const IDLE_FACTOR = 20;
/** An object that admission has charged is stored by then. */
const VERIFY_MILLIS = 1000;

/**
 * Keeps the status of quotas: takes the limits over from their spec, counts what is used when objects go or change, and counts
 * all of it again from time to time. Admission charges what is created.
 */
export class ResourceQuotaController {
  private readonly index = new QuotaIndex();
  private readonly watches: TypeWatches;
  /** Quotas that are counted soon. */
  private readonly gathering = new Set<string>();
  /** Quotas that are counted without an object having gone: what admission has charged may be on its way to the store. */
  private readonly doubtful = new Set<string>();
  private readonly client: LoopbackClient;
  private readonly queue: WorkQueue;
  private types: ReadonlyMap<string, MeasuredType> = new Map();
  private seen: Set<string> | undefined;
  private lastCountMillis = 0;

  constructor(private readonly options: ResourceQuotaOptions) {
    this.client = options.clients.for(QUOTAS);
    this.watches = new TypeWatches(options.clock, (resource, signal) => this.watch(resource, signal));
    this.queue = new WorkQueue({
      name: 'resourcequota_primary',
      clock: options.clock,
      work: (key) => this.sync(key),
      workers: 5,
      onError: (key, error) => {
        if (!isOvertaken(error)) options.onError(key, error);
      },
    });
  }

  start(signal: AbortSignal): void {
    const stop = this.options.registry.onChange(() => {
      this.follow(signal);
    });
    signal.addEventListener(
      'abort',
      () => {
        stop();
        this.watches.close();
        void this.queue.stop();
      },
      { once: true },
    );
    this.watchQuotas(signal);
    void this.resync(signal);
  }

  private watchQuotas(signal: AbortSignal): void {
    this.client.watch(
      {
        upsert: (quota) => {
          this.seen?.add(keyOf(quota));
          if (!this.index.set(quota)) return;
          this.follow(signal);
          this.queue.add(keyOf(quota));
        },
        delete: (quota) => {
          this.index.delete(keyOf(quota));
          this.follow(signal);
        },
        reset: () => {
          this.seen = new Set();
        },
        synced: () => {
          const { seen } = this;
          this.seen = undefined;
          if (seen !== undefined) for (const key of [...this.index.keys()]) if (!seen.has(key)) this.index.delete(key);
        },
      },
      signal,
    );
  }

  private async resync(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.options.clock, RESYNC_MILLIS, signal);
      for (const key of this.index.keys()) {
        this.doubtful.add(key);
        this.queue.add(key);
      }
    }
  }

  /** Watches the types of which quotas limit something, and no others. */
  private follow(signal: AbortSignal): void {
    if (signal.aborted) return;
    this.types = measuredTypes(this.options.registry);
    const names = [...this.index.names()];
    const wanted = new Set<string>();
    for (const [resource, { evaluator }] of this.types) {
      if (names.some((name) => evaluator.matchesResource(name))) wanted.add(resource);
    }
    this.watches.follow(wanted);
  }

  private async watch(resource: string, signal: AbortSignal): Promise<void> {
    const type = this.types.get(resource);
    if (type === undefined) return;
    const { cache } = type.api.store;
    await cache.ready();
    const start = { mode: 'exact' as const, revision: cache.revision() };
    // What changed before is in the cache that is counted.
    for (const key of this.index.allConcerned((name) => type.evaluator.matchesResource(name))) {
      this.doubtful.add(key);
      this.later(key);
    }
    await watchToItsEnd(cache, { ...WATCH_ALL, start, initialEventsBookmark: false }, signal, (event) => {
      this.see(type, event);
    });
  }

  private see({ evaluator }: MeasuredType, { type, object }: WatchEvent): void {
    if (object === undefined || type === 'ADDED' || (type === 'MODIFIED' && !evaluator.readsObjects)) return;
    const { namespace } = storeKey(object.key);
    for (const key of this.index.concerned(namespace, (name) => evaluator.matchesResource(name))) this.later(key);
  }

  private later(key: string, millis = Math.max(GATHER_MILLIS, this.lastCountMillis * IDLE_FACTOR)): void {
    if (this.gathering.has(key)) return;
    this.gathering.add(key);
    this.options.clock.setTimer(millis, () => {
      this.gathering.delete(key);
      this.queue.add(key);
    });
  }

  private async sync(key: string): Promise<void> {
    const { clock } = this.options;
    const quota = await this.client.get(...splitKey(key));
    if (quota === undefined) return;
    const startedAt = clock.monotonic();
    const used = await measure(quota, this.types, clock.now());
    this.lastCountMillis = clock.monotonic() - startedAt;
    const status = objectAt(quota, 'status');
    const hard = objectAt(quota, 'spec')?.['hard'];
    const before = resourceList(status?.['used']);
    const limits = resourceList(hard);
    if (isEqual(limits, resourceList(status?.['hard'])) && isEqual(used, before)) return;
    // An object that admission has charged may not have been stored yet.
    const isLess = [...used].some(([name, amount]) => (before.get(name)?.compare(amount) ?? 0) > 0);
    if (this.doubtful.delete(key) && isLess) {
      this.later(key, VERIFY_MILLIS);
      return;
    }
    const written = {
      ...(limits.size > 0 && { hard: toJson(limits) }),
      ...(used.size > 0 && { used: toJson(used) }),
    };
    try {
      await this.client.updateStatus({ ...quota, status: written });
    } catch (error) {
      // It was charged meanwhile: the next count, too, may come before what that was for is stored.
      if (isOvertaken(error)) this.doubtful.add(key);
      throw error;
    }
    if (isLess) this.later(key, VERIFY_MILLIS);
  }
}
