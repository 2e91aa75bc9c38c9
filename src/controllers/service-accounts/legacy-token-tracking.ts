import { objectAt, stringAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { LoopbackClient, LoopbackClients } from '../../registry/rest/loopback-client.js';
import type { Clock } from '../../util/clock.js';
import { WorkQueue } from '../../util/work-queue.js';
import { swallowIgnorableErrors } from '../errors.js';

const NAMESPACE = 'kube-system';
const NAME = 'kube-apiserver-legacy-service-account-token-tracking';
const KEY = 'since';
const DAY_MILLIS = 86_400_000;
/** A ConfigMap that is deleted repeatedly is recreated at most this often. */
const CREATION_MILLIS = 30 * 60_000;

/** Returns the UTC day of a time in the format of labels: 2006-01-02. */
export const dayOf = (millis: number): string => new Date(millis).toISOString().slice(0, 10);

/** Returns the first moment of a day; undefined if the text is not a date. */
export function parseDay(text: string): number | undefined {
  const millis = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : NaN;
  return Number.isNaN(millis) || dayOf(millis) !== text ? undefined : millis;
}

const sinceOf = (map: KubeObject | undefined): number | undefined =>
  parseDay(stringAt(objectAt(map, 'data'), KEY) ?? '');

/** Returns from when on the use of legacy tokens is known reliably; undefined if unknown. */
export async function trackedSince(clients: LoopbackClients): Promise<number | undefined> {
  const map = await clients.for({ group: '', resource: 'configmaps' }).get(NAMESPACE, NAME);
  const since = sinceOf(map);
  return since === undefined ? undefined : since + DAY_MILLIS;
}

/** Maintains a ConfigMap that records since when the server tracks the use of legacy service account tokens. */
export class LegacyTokenTracking {
  private readonly queue: WorkQueue;
  private readonly client: LoopbackClient;
  private createdAt = -Infinity;

  constructor(
    clients: LoopbackClients,
    private readonly clock: Clock,
    onError: (key: string, error: unknown) => void,
  ) {
    this.client = clients.for({ group: '', resource: 'configmaps' });
    this.queue = new WorkQueue({
      name: 'legacy_token_tracking_controller',
      clock,
      reconcile: () => this.sync(),
      onError,
    });
  }

  start(signal: AbortSignal): void {
    const changed = ({ metadata: { namespace, name } }: KubeObject): void => {
      if (namespace === NAMESPACE && name === NAME) this.queue.add(NAME);
    };
    const synced = (): void => this.queue.add(NAME);
    this.client.watch({ only: NAME, upsert: changed, delete: changed, synced }, signal);
    this.queue.stopOn(signal);
  }

  private async sync(): Promise<void> {
    const map = await this.client.get(NAMESPACE, NAME);
    const data = { [KEY]: dayOf(this.clock.now()) };
    if (map !== undefined) {
      if (sinceOf(map) !== undefined) return;
      await swallowIgnorableErrors(() => this.client.update({ ...map, data: { ...objectAt(map, 'data'), ...data } }));
      return;
    }
    const wait = this.createdAt + CREATION_MILLIS - this.clock.monotonic();
    if (wait > 0) {
      this.queue.addAfter(NAME, wait);
      return;
    }
    const metadata = { name: NAME, namespace: NAMESPACE };
    await swallowIgnorableErrors(() => this.client.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }));
    this.createdAt = this.clock.monotonic();
  }
}
