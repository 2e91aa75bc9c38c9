import { type JsonObject, objectAt } from '../apimachinery/json/json.js';
import { formatMicroTime, type KubeObject } from '../apimachinery/meta/meta.js';
import { ClusterError, type ClusterClient } from '../client/cluster-client.js';
import { Lease } from '../client/lease.js';
import { type Clock, sleep } from '../util/clock.js';

const STORE_LEASE = 'annex-store';

const LOOK_MILLIS = 5_000;
/** A Lease that has not changed for this long is renewed. */
const RENEW_MILLIS = 10_000;
/** A change of the Lease says nothing unless it came this long after the beginning of the outage: another replica may notice later. */
const MARGIN_MILLIS = 10_000;
/** How long a sign of another replica counts. */
const REMEMBER_MILLIS = 30_000;

export interface StoreLeaseOptions {
  readonly client: Pick<ClusterClient, 'must'>;
  readonly clock: Clock;
  readonly namespace: string;
  readonly identity: string;
  /** How long the store has not answered, in milliseconds; undefined while it does. */
  readonly outage: { readonly age: number | undefined };
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
  /** The age of the outage at the last look; undefined if there was none. */
  private agedAt: number | undefined;
  private peerAt = -Infinity;

  private readonly lease: Lease;

  constructor(private readonly options: StoreLeaseOptions) {
    this.lease = new Lease(options.client, options.namespace, STORE_LEASE);
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
    if (outage.age === undefined || clock.monotonic() - this.peerAt > REMEMBER_MILLIS) return;
    throw new Error('another replica reaches the store, this one does not');
  }

  private async look(): Promise<void> {
    const { clock, outage } = this.options;
    const lease = await this.lease.read();
    const now = clock.monotonic();
    const { age } = outage;
    const version = lease?.metadata.resourceVersion ?? '';
    if (version !== this.seen.version) {
      // Changed since the last look, at which the outage was old enough.
      if (age !== undefined && (this.agedAt ?? 0) >= MARGIN_MILLIS) this.peerAt = now;
      this.seen = { version, since: now };
    }
    this.agedAt = age;
    if (age !== undefined) return;
    if (lease === undefined || now - this.seen.since >= RENEW_MILLIS - LOOK_MILLIS / 2)
      await this.lease.write(lease, this.next(lease));
  }

  private next(current: KubeObject | undefined): JsonObject {
    const { clock, identity } = this.options;
    const before = objectAt(current, 'spec') ?? {};
    const renewTime = formatMicroTime(clock.now());
    return { ...before, holderIdentity: identity, leaseDurationSeconds: RENEW_MILLIS / 1_000, renewTime };
  }
}
