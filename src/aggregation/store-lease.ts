import { type JsonObject, objectAt } from '../apimachinery/json/json.js';
import { formatMicroTime, type KubeObject } from '../apimachinery/meta/meta.js';
import { ClusterError, type ClusterClient } from '../client/cluster-client.js';
import { clusterLeases, type LeaseStore, writeLease } from '../client/lease.js';
import { type Clock, sleep } from '../util/clock.js';

const STORE_LEASE = 'annex-store';

const LOOK_MILLIS = 5_000;
/** A Lease that has not changed for this long is renewed. */
const RENEW_MILLIS = 10_000;
/** A change of the Lease says nothing unless it comes this long after the beginning of the outage: another replica may notice later. */
const MARGIN_MILLIS = 10_000;
/** This many changes tell that another replica reaches the store. One may come from a replica that only found the store again a moment earlier. */
const CHANGES = 2;
/** How long a change counts. */
const REMEMBER_MILLIS = 30_000;

export interface StoreLeaseOptions {
  readonly client: Pick<ClusterClient, 'must'>;
  readonly clock: Clock;
  readonly namespace: string;
  readonly identity: string;
  /** When the store last answered before the outage, in monotonic milliseconds; undefined while it answers. */
  readonly outage: { readonly since: number | undefined };
  broken(error: unknown): void;
  restored(): void;
}

/**
 * The Lease that replicas renew while the store answers them. A replica that has lost the store and sees the Lease change knows that it is
 * alone (docs/design/outage.md, "Peers").
 */
export class StoreLease {
  /** The version of the Lease at the last look, and since when it has not changed, in monotonic milliseconds. */
  private seen = { version: '', since: 0 };
  /** The changes of the Lease during an outage, which begins at `since`. They say nothing about another outage. */
  private changes = { since: NaN, count: 0, last: -Infinity, isOld: false };

  private readonly leases: LeaseStore;

  constructor(private readonly options: StoreLeaseOptions) {
    this.leases = clusterLeases(options.client);
  }

  /** Looks at the Lease until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    while (!signal.aborted) {
      try {
        await this.look();
        this.options.restored();
      } catch (error) {
        // Another replica was faster.
        if (!(error instanceof ClusterError && error.status === 409)) this.options.broken(error);
      }
      await sleep(clock, LOOK_MILLIS, signal);
    }
  }

  /** Throws if another replica has the store while this one has not. */
  check(): void {
    const { clock, outage } = this.options;
    const { since, count, last } = this.changes;
    if (outage.since !== since || count < CHANGES || clock.monotonic() - last > REMEMBER_MILLIS) return;
    throw new Error('another replica reaches the store, this one does not');
  }

  private async look(): Promise<void> {
    const { clock, namespace, outage } = this.options;
    const lease = await this.leases.get(namespace, STORE_LEASE);
    const now = clock.monotonic();
    const version = lease?.metadata.resourceVersion ?? '';
    const isChanged = version !== this.seen.version;
    if (isChanged) this.seen = { version, since: now };
    if (outage.since !== undefined) {
      this.countChange(isChanged, outage.since, now);
      return;
    }
    const isDue = lease === undefined || now - this.seen.since >= RENEW_MILLIS - LOOK_MILLIS / 2;
    if (!isDue) return;
    const renewed = await writeLease(this.leases, lease, { namespace, name: STORE_LEASE }, this.next(lease));
    this.seen = { version: renewed?.metadata.resourceVersion ?? '', since: now };
  }

  private countChange(isChanged: boolean, since: number, now: number): void {
    if (this.changes.since !== since) this.changes = { since, count: 0, last: -Infinity, isOld: false };
    const { changes } = this;
    if (isChanged && changes.isOld) {
      changes.count++;
      changes.last = now;
    }
    changes.isOld = now - since >= MARGIN_MILLIS;
  }

  private next(current: KubeObject | undefined): JsonObject {
    const { clock, identity } = this.options;
    const before = objectAt(current, 'spec') ?? {};
    const renewTime = formatMicroTime(clock.now());
    return { ...before, holderIdentity: identity, leaseDurationSeconds: RENEW_MILLIS / 1_000, renewTime };
  }
}
