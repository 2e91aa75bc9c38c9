import { type JsonObject, objectAt, stringAt } from '../apimachinery/json/json.js';
import { ApiError } from '../apimachinery/meta/errors.js';
import { formatMicroTime, type KubeObject } from '../apimachinery/meta/meta.js';
import { ClusterError } from '../client/cluster-error.js';
import { type LeaseStore, writeLease } from '../client/lease.js';
import type { LoopbackClients } from '../registry/rest/loopback-client.js';
import { type Clock, sleep } from '../util/clock.js';

const DURATION_SECONDS = 15;
const RENEW_MILLIS = 3_000;
/** A leader that could not renew for this long stops, well before another process may take the lease. */
const GIVE_UP_MILLIS = 10_000;

const LEASES = { group: 'coordination.k8s.io', resource: 'leases' };

/** The server's own Leases. */
export const localLeases = (clients: LoopbackClients): LeaseStore => clients.for(LEASES);

const isConflict = (error: unknown): boolean =>
  (error instanceof ClusterError && error.status === 409) || (error instanceof ApiError && error.code === 409);

export interface ElectionOptions {
  readonly leases: LeaseStore;
  readonly clock: Clock;
  readonly namespace: string;
  readonly name: string;
  /** The identity of this process, which no other process shares. */
  readonly identity: string;
  onError(error: unknown): void;
}

/** Returns false after `millis`, if nothing has been returned by then. */
function withinMillis(clock: Clock, millis: number, answer: Promise<boolean>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(Math.max(millis, 0), () => resolve(false));
    answer.then(resolve, reject).finally(() => timer.cancel());
  });
}

/** A Lease by which processes elect a leader, as with client-go. */
export class ElectionLease {
  /** The last record seen, and since when (monotonic): the clocks of other machines are not trusted. */
  private seen = { record: '', since: 0 };
  private renewedAt = -Infinity;

  constructor(private readonly options: ElectionOptions) {}

  /** Contends until the signal aborts. `lead` runs while this process leads; its signal aborts when leadership ends. */
  async contend(signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { clock } = this.options;
    let leading: AbortController | undefined;
    let work: Promise<void> = Promise.resolve();
    while (!signal.aborted) {
      // A request may take longer than the Lease lasts.
      const patience = leading === undefined ? undefined : this.renewedAt + GIVE_UP_MILLIS - clock.monotonic();
      const held = await (patience === undefined ? this.try() : withinMillis(clock, patience, this.try()));
      if (held && leading === undefined) {
        leading = new AbortController();
        work = lead(leading.signal);
      } else if (!held && leading !== undefined && clock.monotonic() - this.renewedAt >= GIVE_UP_MILLIS) {
        leading.abort();
        await work;
        leading = undefined;
      }
      await sleep(clock, RENEW_MILLIS, signal);
    }
    leading?.abort();
    await work;
    if (leading !== undefined) await this.release();
  }

  /** Acquires or renews the lease. Returns false if another process holds it, or if the request fails. */
  private async try(): Promise<boolean> {
    const { leases, clock, namespace, name } = this.options;
    const began = clock.monotonic();
    try {
      const current = await leases.get(namespace, name);
      if (current !== undefined && !this.isFree(current)) {
        // Another process holds it: this one no longer leads, however recently it renewed.
        this.renewedAt = -Infinity;
        return false;
      }
      await writeLease(leases, current, { namespace, name }, this.next(current));
      this.renewedAt = Math.max(this.renewedAt, began);
      return true;
    } catch (error) {
      if (!isConflict(error)) this.options.onError(error);
      return false;
    }
  }

  private isFree(lease: KubeObject): boolean {
    const { clock, identity } = this.options;
    const spec = objectAt(lease, 'spec');
    const holder = stringAt(spec, 'holderIdentity') ?? '';
    if (holder === '' || holder === identity) return true;
    const record = `${holder} ${stringAt(spec, 'renewTime') ?? ''}`;
    const now = clock.monotonic();
    if (record !== this.seen.record) this.seen = { record, since: now };
    return now - this.seen.since > DURATION_SECONDS * 1000;
  }

  private next(current: KubeObject | undefined): JsonObject {
    const { clock, identity } = this.options;
    const before = objectAt(current, 'spec') ?? {};
    const now = formatMicroTime(clock.now());
    const same = before['holderIdentity'] === identity;
    const transitions = Number(before['leaseTransitions'] ?? 0);
    return {
      holderIdentity: identity,
      leaseDurationSeconds: DURATION_SECONDS,
      acquireTime: same ? (before['acquireTime'] ?? now) : now,
      renewTime: now,
      leaseTransitions: same || current === undefined ? transitions : transitions + 1,
    };
  }

  /** Lets another process acquire the lease at once. */
  private async release(): Promise<void> {
    const { leases, identity, namespace, name } = this.options;
    try {
      const current = await leases.get(namespace, name);
      const spec = objectAt(current, 'spec');
      if (current === undefined || spec?.['holderIdentity'] !== identity) return;
      await writeLease(leases, current, { namespace, name }, { ...spec, holderIdentity: '' });
    } catch {
      // The lease expires by itself.
    }
  }
}
