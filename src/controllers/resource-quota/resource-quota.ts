import { objectAt, stringifyJson } from '../../apimachinery/json/json.js';
import { isEqual, resourceList, toJson } from '../../quota/resource-list.js';
import { splitKey } from '../../registry/generic/store/resource-store.js';
import { WATCH_ALL, watchUntilDone } from '../../registry/generic/loopback/watch-until-done.js';
import type { ApiRegistry } from '../../registry/generic/store/api-registry.js';
import type { LoopbackClient, LoopbackClients } from '../../registry/rest/loopback-client.js';
import type { WatchEvent } from '../../storage/cacher/interfaces.js';
import { type Clock, sleep } from '../../util/clock.js';
import { WorkQueue } from '../../util/work-queue.js';
import { isIgnorableError } from '../errors.js';
import { TypeWatches } from '../type-watches.js';
import { keyOf } from '../object-cache.js';
import { measure, type MeasuredType, measuredTypes } from './measure.js';
import { usageUpperBound, RecentCharges } from './recent-charges.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { addTo, removeFrom } from '../../util/append.js';

interface Known {
  readonly uid: string;
  /** The limits as a string, to detect changes. */
  readonly limits: string;
  readonly names: readonly string[];
}

/** An index of the quotas: which resources they limit, by namespace and overall. */
class QuotaIndex {
  private readonly quotas = new Map<string, Known>();
  private readonly byNamespace = new Map<string, Set<string>>();
  /** The number of quotas that limit each resource. */
  private readonly limited = new Map<string, number>();

  /** Names of all resources that any quota limits. */
  names(): Iterable<string> {
    return this.limited.keys();
  }

  keys(): Iterable<string> {
    return this.quotas.keys();
  }

  /** Returns the keys of the namespace's quotas that limit a resource for which `wanted` is true. */
  *concerned(namespace: string, wanted: (name: string) => boolean): Iterable<string> {
    for (const key of this.byNamespace.get(namespace) ?? []) {
      if (this.quotas.get(key)?.names.some(wanted) === true) yield key;
    }
  }

  /** Does the same for all namespaces. */
  *allConcerned(wanted: (name: string) => boolean): Iterable<string> {
    for (const [key, { names }] of this.quotas) if (names.some(wanted)) yield key;
  }

  /** Adds or replaces a quota. Returns true if it is new or its limits changed. */
  set(quota: KubeObject): boolean {
    const key = keyOf(quota);
    const hard = objectAt(objectAt(quota, 'spec'), 'hard') ?? {};
    const uid = quota.metadata.uid ?? '';
    const limits = stringifyJson(hard);
    const before = this.quotas.get(key);
    if (before?.uid === uid && before.limits === limits) return false;
    this.delete(key);
    const names = Object.keys(hard);
    this.quotas.set(key, { uid, limits, names });
    for (const name of names) this.limited.set(name, (this.limited.get(name) ?? 0) + 1);
    addTo(this.byNamespace, splitKey(key).namespace, key);
    return true;
  }

  delete(key: string): void {
    const known = this.quotas.get(key);
    if (known === undefined) return;
    this.quotas.delete(key);
    for (const name of known.names) {
      const left = (this.limited.get(name) ?? 0) - 1;
      if (left > 0) this.limited.set(name, left);
      else this.limited.delete(name);
    }
    removeFrom(this.byNamespace, splitKey(key).namespace, key);
  }
}

export interface ResourceQuotaOptions {
  readonly registry: ApiRegistry;
  readonly clients: LoopbackClients;
  readonly clock: Clock;
  readonly onError: (what: string, error: unknown) => void;
}

const QUOTAS = { group: '', resource: 'resourcequotas' };
/** How often all quotas are recounted, as in kube-controller-manager. */
const RESYNC_MILLIS = 300_000;
/** Changes within this time lead to one count, and counting takes at most a twentieth of the time. */
const GATHER_MILLIS = 50;
const IDLE_FACTOR = 20;
/** By then, an object that admission has charged is stored. */
const STORED_AFTER_MILLIS = 1000;

/**
 * Maintains the status of quotas: copies the limits from their spec, counts usage when objects are deleted or changed, and recounts
 * everything at the resync. Admission charges for creations.
 */
export class ResourceQuotaController {
  private readonly index = new QuotaIndex();
  private readonly watches: TypeWatches;
  /** Quotas with a count scheduled. */
  private readonly gathering = new Set<string>();
  private readonly recent: RecentCharges;
  private readonly client: LoopbackClient;
  private readonly queue: WorkQueue;
  private types: ReadonlyMap<string, MeasuredType> = new Map();
  private seen: Set<string> | undefined;
  private lastCountMillis = 0;

  constructor(private readonly options: ResourceQuotaOptions) {
    this.client = options.clients.for(QUOTAS);
    this.recent = new RecentCharges(options.clock, STORED_AFTER_MILLIS);
    this.watches = new TypeWatches(options.clock, (resource, signal) => this.watch(resource, signal));
    this.queue = new WorkQueue({
      name: 'resourcequota_primary',
      clock: options.clock,
      reconcile: (key) => this.sync(key),
      workers: 5,
      onError: (key, error) => {
        if (!isIgnorableError(error)) options.onError(key, error);
      },
    });
  }

  start(signal: AbortSignal): void {
    this.watches.run(this.options.registry, this.queue, signal, () => this.follow(signal));
    this.watchQuotas(signal);
    void this.resync(signal);
  }

  private watchQuotas(signal: AbortSignal): void {
    this.client.watch(
      {
        upsert: (quota) => {
          this.seen?.add(keyOf(quota));
          this.recent.see(quota);
          if (!this.index.set(quota)) return;
          this.follow(signal);
          this.queue.add(keyOf(quota));
        },
        delete: (quota) => {
          this.forget(keyOf(quota));
          this.follow(signal);
        },
        reset: () => {
          this.seen = new Set();
        },
        synced: () => {
          const { seen } = this;
          this.seen = undefined;
          if (seen !== undefined) for (const key of [...this.index.keys()]) if (!seen.has(key)) this.forget(key);
        },
      },
      signal,
    );
  }

  private forget(key: string): void {
    this.index.delete(key);
    this.recent.delete(key);
  }

  private async resync(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.options.clock, RESYNC_MILLIS, signal);
      for (const key of this.index.keys()) this.queue.add(key);
    }
  }

  /** Watches only the types that quotas limit. */
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
    // Earlier changes are in the cache that is counted.
    for (const key of this.index.allConcerned((name) => type.evaluator.matchesResource(name))) this.enqueueLater(key);
    await watchUntilDone(cache, { ...WATCH_ALL, start, initialEventsBookmark: false }, signal, (event) =>
      this.see(type, event),
    );
  }

  private see({ evaluator }: MeasuredType, { type, object }: WatchEvent): void {
    if (object === undefined || type === 'ADDED' || (type === 'MODIFIED' && !evaluator.readsObjects)) return;
    const { namespace } = splitKey(object.key);
    for (const key of this.index.concerned(namespace, (name) => evaluator.matchesResource(name)))
      this.enqueueLater(key);
  }

  private enqueueLater(key: string, millis = Math.max(GATHER_MILLIS, this.lastCountMillis * IDLE_FACTOR)): void {
    if (this.gathering.has(key)) return;
    this.gathering.add(key);
    this.options.clock.setTimer(millis, () => {
      this.gathering.delete(key);
      this.queue.add(key);
    });
  }

  private async sync(key: string): Promise<void> {
    const { clock } = this.options;
    const { namespace, name } = splitKey(key);
    const quota = await this.client.get(namespace, name);
    if (quota === undefined) return;
    this.recent.see(quota);
    const startedAt = clock.monotonic();
    const counted = await measure(quota, this.types, clock.now());
    this.lastCountMillis = clock.monotonic() - startedAt;
    const status = objectAt(quota, 'status');
    const limits = resourceList(objectAt(quota, 'spec')?.['hard']);
    const before = resourceList(status?.['used']);
    const used = usageUpperBound(before, counted, this.recent.of(key));
    const areNewLimits = !isEqual(limits, resourceList(status?.['hard']));
    // Admission charges by the limits in the status alone: objects created before those were set are counted once they are stored.
    if (areNewLimits || !isEqual(used, counted)) this.enqueueLater(key, STORED_AFTER_MILLIS);
    if (!areNewLimits && isEqual(used, before)) return;
    const written = {
      ...(limits.size > 0 && { hard: toJson(limits) }),
      ...(used.size > 0 && { used: toJson(used) }),
    };
    await this.client.updateStatus({ ...quota, status: written });
  }
}
