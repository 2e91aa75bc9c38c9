import type { ParamSource, ParamStore } from '../../admission/sources.js';
import { formatGroupVersionKind, type GroupVersionKind } from '../../apimachinery/meta/meta.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import type { Clock } from '../../util/clock.js';
import { FollowedParams, type ParamEvents } from './followed-params.js';
import { discover } from './served-versions.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** How soon the cluster is asked again for a kind that was unknown or could not be looked up. */
const UNKNOWN_MILLIS = 1_000;

export interface ClusterParamsOptions {
  readonly client: Pick<ClusterClient, 'call' | 'follow'>;
  readonly clock: Clock;
  /** Kinds that this server serves itself: asking the cluster would lead back to this server. */
  readonly local: ParamSource;
  readonly events: ParamEvents & {
    /** Called when no policy refers to the kind any longer, or the cluster does not serve it. */
    forgotten(kind: GroupVersionKind): void;
  };
}

/** The state of the lookup of a kind. */
interface Lookup {
  readonly kind: GroupVersionKind;
  store: FollowedParams | undefined;
  looking: Promise<void> | undefined;
  /** When the last lookup failed (monotonic milliseconds). */
  missedAt: number;
}

/** The params in the cluster; each kind is followed while a policy refers to it. */
export class ClusterParams implements ParamSource {
  private readonly lookups = new Map<string, Lookup>();
  private stopped = false;

  constructor(private readonly options: ClusterParamsOptions) {}

  open(kind: GroupVersionKind): MaybePromise<ParamStore | undefined> {
    const local = this.options.local.open(kind);
    if (local !== undefined || this.stopped) return local;
    const lookup = this.lookup(kind);
    return lookup.store ?? lookup.looking?.then(() => lookup.store);
  }

  retain(kinds: readonly GroupVersionKind[]): void {
    const names = new Set(kinds.map(formatGroupVersionKind));
    for (const [name, lookup] of this.lookups) if (!names.has(name)) this.forget(name, lookup);
    for (const kind of kinds) void this.open(kind);
  }

  stop(): void {
    this.stopped = true;
    for (const [name, lookup] of this.lookups) this.forget(name, lookup);
  }

  private lookup(kind: GroupVersionKind): Lookup {
    const name = formatGroupVersionKind(kind);
    const known = this.lookups.get(name);
    const lookup = known ?? { kind, store: undefined, looking: undefined, missedAt: -Infinity };
    this.lookups.set(name, lookup);
    const due = this.options.clock.monotonic() - lookup.missedAt >= UNKNOWN_MILLIS;
    if (lookup.store === undefined && lookup.looking === undefined && due) lookup.looking = this.look(name, lookup);
    return lookup;
  }

  private async look(name: string, lookup: Lookup): Promise<void> {
    const { client, clock, events } = this.options;
    const { kind } = lookup;
    try {
      const type = (await discover(client, kind)).find((one) => one.kind === kind.kind);
      if (this.lookups.get(name) !== lookup) return;
      if (type === undefined) {
        lookup.missedAt = clock.monotonic();
        events.broken(kind, new Error('the cluster does not serve the kind'));
        return;
      }
      const store = new FollowedParams(kind, type, clock);
      lookup.store = store;
      void store.follow(client, events, () => {
        if (lookup.store === store) this.forget(name, lookup);
      });
    } catch (error) {
      lookup.missedAt = clock.monotonic();
      events.broken(kind, error);
    } finally {
      lookup.looking = undefined;
    }
  }

  private forget(name: string, lookup: Lookup): void {
    lookup.store?.stop();
    this.lookups.delete(name);
    this.options.events.forgotten(lookup.kind);
  }
}
