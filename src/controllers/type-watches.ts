import type { ApiRegistry, StoredApi } from '../registry/generic/store/api-registry.js';
import { type Clock, sleep } from '../util/clock.js';
import type { WorkQueue } from '../util/work-queue.js';

const RESTART_MILLIS = 1000;

/** Returns each stored type whose objects can be deleted once, by its name in the store, regardless of how many versions it has. */
export function storedTypes(registry: ApiRegistry): Map<string, StoredApi> {
  const types = new Map<string, StoredApi>();
  for (const api of registry.all()) {
    if (api.kind === 'stored' && api.served.verbs.includes('delete')) types.set(api.store.resource, api);
  }
  return types;
}

/** Runs one watch per wanted type and restarts it a second after it ends. */
export class TypeWatches {
  private readonly watches = new Map<string, AbortController>();

  constructor(
    private readonly clock: Clock,
    /** Watches a type once, until the watch ends or the signal aborts. */
    private readonly watch: (resource: string, signal: AbortSignal) => Promise<void>,
  ) {}

  /** Ends the watches of types that are no longer wanted and returns those types; starts watches for new ones. */
  follow(wanted: { has(resource: string): boolean; keys(): Iterable<string> }): string[] {
    const dropped = [...this.watches.keys()].filter((resource) => !wanted.has(resource));
    for (const resource of dropped) {
      this.watches.get(resource)?.abort();
      this.watches.delete(resource);
    }
    for (const resource of wanted.keys()) {
      if (this.watches.has(resource)) continue;
      const controller = new AbortController();
      this.watches.set(resource, controller);
      void this.keepWatching(resource, controller.signal);
    }
    return dropped;
  }

  /** Calls `changed` whenever the set of served types changes. When the signal aborts, ends the watches and the queue. */
  run(registry: ApiRegistry, queue: WorkQueue, signal: AbortSignal, changed: () => void): void {
    const stop = registry.onChange(changed);
    const end = (): void => {
      stop();
      for (const watch of this.watches.values()) watch.abort();
      void queue.stop();
    };
    signal.addEventListener('abort', end, { once: true });
  }

  private async keepWatching(resource: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.watch(resource, signal).catch(() => undefined);
      await sleep(this.clock, RESTART_MILLIS, signal);
    }
  }
}
