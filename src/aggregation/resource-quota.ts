import type { AdmissionAttributes, AdmissionPlugin } from '../admission/interfaces.js';
import { newForbidden } from '../apimachinery/meta/errors.js';
import { deepCopy, type JsonObject, objectAt } from '../apimachinery/json/json.js';
import { type KubeObject, nameOf, namespaceOf } from '../apimachinery/meta/meta.js';
import { Quantity } from '../apimachinery/meta/quantity.js';
import { exceededText } from '../quota/charge.js';
import { countName } from '../quota/object-count.js';
import { ONE, type ResourceList } from '../quota/resource-list.js';
import { ClusterError, type ClusterClient } from '../client/cluster-client.js';
import { Batches } from '../util/batches.js';
import type { MaybePromise } from '../util/maybe-promise.js';

const MAX_ATTEMPTS = 8;

/** A creation that waits to be charged. */
interface PendingCharge {
  readonly attributes: AdmissionAttributes;
  /** The name of the counted resource: `count/<resource>.<group>`. */
  readonly key: string;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Enforces the cluster's object count quotas. The cluster's controller counts existing objects, but its admission never sees what an
 * extension server creates. This plugin rejects what exceeds a quota and records everything else in the quota's status, as that admission
 * does. Concurrent creations in a namespace are recorded together.
 */
export class ClusterQuotas implements AdmissionPlugin {
  readonly name = 'ResourceQuota';
  /** By namespace, then by name. */
  private quotas = new Map<string, Map<string, KubeObject>>();
  private readonly batches = new Batches<PendingCharge>(
    (namespace, batch) => this.count(namespace, batch),
    (one, error) => one.reject(error),
  );
  private synced = false;

  constructor(private readonly client: Pick<ClusterClient, 'follow' | 'must'>) {}

  follow(signal: AbortSignal, handlers: { broken(error: unknown): void; restored(): void }): Promise<void> {
    const listener = {
      upsert: (quota: KubeObject) => this.set(quota),
      delete: (quota: KubeObject) => void this.quotas.get(namespaceOf(quota))?.delete(nameOf(quota)),
      replaced: (all: readonly KubeObject[]) => {
        this.quotas = new Map();
        for (const quota of all) this.set(quota);
        this.synced = true;
      },
      responded: () => handlers.restored(),
    };
    return this.client.follow('/api/v1/resourcequotas', listener, signal, (error) => handlers.broken(error));
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE';
  }

  /** Quotas count objects, regardless of their content. */
  readsObjects(): boolean {
    return false;
  }

  validate(attributes: AdmissionAttributes): MaybePromise<void> {
    const { operation, namespace, resource, subresource } = attributes;
    if (operation !== 'CREATE' || namespace === '' || subresource !== '') return;
    const key = countName(resource);
    if (this.synced && this.counting(namespace, key).length === 0) return;
    return new Promise((resolve, reject) => this.batches.add(namespace, { attributes, key, resolve, reject }));
  }

  private set(quota: KubeObject): void {
    const namespace = namespaceOf(quota);
    const quotas = this.quotas.get(namespace) ?? new Map<string, KubeObject>();
    this.quotas.set(namespace, quotas);
    const known = quotas.get(nameOf(quota));
    // A state that this server wrote itself may be newer than that of the watch.
    if (known !== undefined && known.metadata.uid === quota.metadata.uid && versionOf(known) > versionOf(quota)) return;
    quotas.set(nameOf(quota), quota);
  }

  /** Returns the quotas that limit the key. Scopes apply to pods: quotas with scopes are left out. */
  private counting(namespace: string, key: string): KubeObject[] {
    return [...(this.quotas.get(namespace)?.values() ?? [])].filter((quota) => {
      const spec = objectAt(quota, 'spec');
      const scopes = spec?.['scopes'];
      if ((Array.isArray(scopes) && scopes.length > 0) || objectAt(spec, 'scopeSelector') !== undefined) return false;
      return objectAt(objectAt(quota, 'status'), 'hard')?.[key] !== undefined;
    });
  }

  private async count(namespace: string, batch: readonly PendingCharge[]): Promise<void> {
    if (!this.synced) await this.read(namespace);
    for (const key of new Set(batch.map((one) => one.key))) {
      let left = batch.filter((one) => one.key === key);
      for (const quota of this.counting(namespace, key)) left = await this.charge(quota, key, left);
      for (const one of left) one.resolve();
    }
  }

  /** Reads the quotas before the watch has delivered them. */
  private async read(namespace: string): Promise<void> {
    try {
      const list = await this.client.must('GET', `/api/v1/namespaces/${encodeURIComponent(namespace)}/resourcequotas`);
      for (const quota of (list?.['items'] ?? []) as KubeObject[]) this.set(quota);
    } catch (error) {
      // Without permission to read quotas, none apply; the watch has reported it.
      if (!(error instanceof ClusterError && error.status === 403)) throw error;
    }
  }

  /** Charges to a quota what fits and rejects the rest. Returns what fits. */
  private async charge(quota: KubeObject, key: string, batch: readonly PendingCharge[]): Promise<PendingCharge[]> {
    let current: KubeObject | undefined = quota;
    for (let attempt = 1; current !== undefined; attempt++) {
      const { fitting, refused, added } = fit(current, key, batch);
      try {
        if (added > 0) this.set(await this.writeUsage(current, key, added));
        for (const [one, error] of refused) one.reject(error);
        return fitting;
      } catch (error) {
        if (!(error instanceof ClusterError && error.status === 409) || attempt === MAX_ATTEMPTS) throw error;
        current = await this.client.must('GET', pathOf(quota));
        if (current !== undefined) this.set(current);
      }
    }
    // The quota is gone and limits nothing any longer.
    return [...batch];
  }

  private async writeUsage(quota: KubeObject, key: string, added: number): Promise<KubeObject> {
    const next = deepCopy(quota);
    const status = objectAt(next, 'status') ?? {};
    const used: JsonObject = { ...objectAt(status, 'used') };
    used[key] = amount(quota, 'used', key)
      .add(Quantity.of(BigInt(added)))
      .toString();
    next['status'] = { ...status, used };
    const written = await this.client.must('PUT', `${pathOf(quota)}/status`, next);
    return written ?? quota;
  }
}

interface Fit {
  readonly fitting: PendingCharge[];
  readonly refused: readonly (readonly [PendingCharge, Error])[];
  /** The increase in usage; a dry run uses nothing. */
  readonly added: number;
}

function fit(quota: KubeObject, key: string, batch: readonly PendingCharge[]): Fit {
  const fitting: PendingCharge[] = [];
  const refused: [PendingCharge, Error][] = [];
  const name = nameOf(quota);
  const only = (amount: Quantity): ResourceList => new Map([[key, amount]]);
  const known = objectAt(objectAt(quota, 'status'), 'used')?.[key] !== undefined;
  const limit = amount(quota, 'hard', key);
  const before = amount(quota, 'used', key);
  let added = 0;
  for (const one of batch) {
    const used = before.add(Quantity.of(BigInt(added)));
    if (known && used.add(ONE).compare(limit) <= 0) {
      fitting.push(one);
      if (!one.attributes.dryRun) added++;
      continue;
    }
    const why = known
      ? exceededText({ name, used: only(used), hard: only(limit) }, only(ONE))
      : `status unknown for quota: ${name}, resources: ${key}`;
    refused.push([one, newForbidden(one.attributes.resource, one.attributes.name, why)]);
  }
  return { fitting, refused, added };
}

function amount(quota: KubeObject, what: 'hard' | 'used', key: string): Quantity {
  const value = objectAt(objectAt(quota, 'status'), what)?.[key];
  return Quantity.parse(typeof value === 'string' ? value : '0');
}

const versionOf = (quota: KubeObject): bigint => BigInt(quota.metadata.resourceVersion ?? '0');

const pathOf = (quota: KubeObject): string =>
  `/api/v1/namespaces/${encodeURIComponent(namespaceOf(quota))}/resourcequotas/${encodeURIComponent(nameOf(quota))}`;
