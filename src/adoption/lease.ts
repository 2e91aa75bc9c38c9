import { deepCopy, type JsonObject, objectAt, stringAt } from '../apimachinery/json/json.js';
import { formatMicroTime, type KubeObject } from '../apimachinery/meta/meta.js';
import { ClusterError, type ClusterClient } from '../client/cluster-client.js';
import { type Clock, sleep } from '../util/clock.js';

const DURATION_SECONDS = 15;
const RENEW_MILLIS = 3_000;
/** A leader that could not renew for this long stops, well before another process may take the lease. */
const GIVE_UP_MILLIS = 10_000;

export interface ClusterLeaseOptions {
  readonly client: Pick<ClusterClient, 'must'>;
  readonly clock: Clock;
  readonly namespace: string;
  readonly name: string;
  /** The identity of this process, which no other process shares. */
  readonly identity: string;
  onError(error: unknown): void;
}

/** A Lease in the cluster by which processes elect a leader. */
export class ClusterLease {
  /** The last record seen, and since when (monotonic): the clocks of other machines are not trusted. */
  private seen = { record: '', since: 0 };
  private renewedAt = -Infinity;

  constructor(private readonly options: ClusterLeaseOptions) {}

  /** Contends until the signal aborts. `lead` runs while this process leads; its signal aborts when leadership ends. */
  async contend(signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { clock } = this.options;
    let leading: AbortController | undefined;
    let work: Promise<void> = Promise.resolve();
    while (!signal.aborted) {
      const held = await this.try();
      if (held && leading === undefined) {
        leading = new AbortController();
        work = lead(leading.signal);
      } else if (!held && leading !== undefined && clock.monotonic() - this.renewedAt > GIVE_UP_MILLIS) {
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
    const { client, clock } = this.options;
    const began = clock.monotonic();
    try {
      const current = await client.must('GET', this.path);
      if (current === undefined) await client.must('POST', this.collection, this.next(undefined));
      else if (!this.isFree(current)) {
        // Another process holds it: this one no longer leads, however recently it renewed.
        this.renewedAt = -Infinity;
        return false;
      } else await client.must('PUT', this.path, this.next(current));
      this.renewedAt = began;
      return true;
    } catch (error) {
      if (!(error instanceof ClusterError && error.status === 409)) this.options.onError(error);
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
    const { clock, identity, name, namespace } = this.options;
    const before = objectAt(current, 'spec') ?? {};
    const now = formatMicroTime(clock.now());
    const same = before['holderIdentity'] === identity;
    const transitions = Number(before['leaseTransitions'] ?? 0);
    const spec = {
      holderIdentity: identity,
      leaseDurationSeconds: DURATION_SECONDS,
      acquireTime: same ? (before['acquireTime'] ?? now) : now,
      renewTime: now,
      leaseTransitions: same || current === undefined ? transitions : transitions + 1,
    };
    if (current !== undefined) return { ...deepCopy(current), spec };
    return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace }, spec };
  }

  /** Lets another process acquire the lease at once. */
  private async release(): Promise<void> {
    const { client, identity } = this.options;
    try {
      const current = await client.must('GET', this.path);
      const spec = objectAt(current, 'spec');
      if (current === undefined || spec?.['holderIdentity'] !== identity) return;
      await client.must('PUT', this.path, { ...deepCopy(current), spec: { ...spec, holderIdentity: '' } });
    } catch {
      // The lease expires by itself.
    }
  }

  private get collection(): string {
    return `/apis/coordination.k8s.io/v1/namespaces/${this.options.namespace}/leases`;
  }

  private get path(): string {
    return `${this.collection}/${this.options.name}`;
  }
}
