import { newInternalError } from '../../../apimachinery/meta/errors.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { charge } from '../../../quota/charge.js';
import type { Evaluator, QuotaChange } from '../../../quota/evaluator.js';
import { evaluatorOf } from '../../../quota/evaluators.js';
import { isEqual, toJson } from '../../../quota/resource-list.js';
import { type Quota, quotaOf } from '../../../quota/quota.js';
import { Batches } from '../../../util/batches.js';
import { LruCache } from '../../../util/caches/lru-cache.js';
import type { Clock } from '../../../util/clock.js';
import { messageOf } from '../../../util/error-message.js';
import type { AdmissionAttributes, AdmissionPlugin } from '../../interfaces.js';
import { refusal } from '../../refusal.js';
import type { MaybePromise } from '../../../util/maybe-promise.js';

/** Reads and updates ResourceQuota objects. */
export interface QuotaObjects {
  /** Returns the cached quotas of a namespace. */
  cached(namespace: string): readonly KubeObject[];
  /** Reads the newest state from the store; undefined if the quota is gone. */
  live(namespace: string, name: string): Promise<KubeObject | undefined>;
  /** Throws ApiError 409 if the object's resourceVersion is not the stored one. */
  updateStatus(quota: KubeObject): Promise<KubeObject>;
}

/** A change that is waiting to be charged. */
interface AdmissionWaiter {
  readonly attributes: AdmissionAttributes;
  readonly change: QuotaChange;
  readonly evaluator: Evaluator;
  allow(): void;
  deny(error: unknown): void;
}

const MAX_WRITTEN = 100;
const MAX_ATTEMPTS = 8;
const TIMEOUT_MILLIS = 10_000;

/**
 * Refuses changes that would exceed a quota of the namespace. The usage of the other changes is written to the status
 * of the quotas before they are stored. Concurrent changes in a namespace are charged as one batch.
 */
export class ResourceQuotaAdmission implements AdmissionPlugin {
  readonly name = 'ResourceQuota';
  /** Waiting changes by namespace; bounded by the number of requests in flight. */
  private readonly batches = new Batches<AdmissionWaiter>(
    (namespace, batch) => this.checkQuotas(namespace, batch),
    (one, error) => one.deny(error),
  );
  /** The quotas that the plugin wrote last, which the cache may not have yet. */
  private readonly written = new LruCache<string, KubeObject>({ capacity: MAX_WRITTEN });

  constructor(
    private readonly quotas: QuotaObjects,
    private readonly clock: Clock,
  ) {}

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  readsObjects(resource: AdmissionAttributes['resource']): boolean {
    return evaluatorOf(resource)?.readsObjects === true;
  }

  validate(attributes: AdmissionAttributes): MaybePromise<void> {
    const { operation, namespace, resource, subresource, object, oldObject } = attributes;
    if (namespace === '' || (operation !== 'CREATE' && operation !== 'UPDATE')) return;
    if (operation === 'CREATE' && attributes.kind.group === '' && attributes.kind.kind === 'Namespace') return;
    const evaluator = evaluatorOf(resource);
    const change = { operation, subresource, object, oldObject };
    if (evaluator?.handles(change) !== true) return;
    if (this.quotas.cached(namespace).length === 0) return;
    return new Promise((resolve, reject) => {
      const timer = this.clock.setTimer(TIMEOUT_MILLIS, () =>
        reject(newInternalError('resource quota evaluation timed out')),
      );
      const allow = (): void => {
        timer.cancel();
        resolve();
      };
      const deny = (error: unknown): void => {
        timer.cancel();
        reject(error instanceof Error ? error : new Error(messageOf(error)));
      };
      this.batches.add(namespace, { attributes, change, evaluator, allow, deny });
    });
  }

  /**
   * Charges the changes that fit, in order, and updates the quotas. Retries those quotas that another writer has
   * changed in the meantime.
   */
  private async checkQuotas(namespace: string, batch: readonly AdmissionWaiter[]): Promise<void> {
    let quotas = this.quotas.cached(namespace).map((object) => quotaOf(this.newest(object)));
    let left = batch;
    for (let attempt = 1; left.length > 0; attempt++) {
      const charged = this.chargeAll(quotas, left);
      left = charged.waiting;
      const failed = await this.write(quotas, charged.quotas);
      if (failed.names.length === 0) break;
      if (attempt === MAX_ATTEMPTS) throw failed.error;
      const live = await Promise.all(failed.names.map((name) => this.quotas.live(namespace, name)));
      // The other quotas have been updated; one that is gone limits nothing.
      quotas = live.filter((object) => object !== undefined).map(quotaOf);
    }
    for (const one of left) one.allow();
  }

  /** Returns the cached quota, or the one that was written if that is newer. */
  private newest(cached: KubeObject): KubeObject {
    const written = this.written.get(keyOf(cached));
    if (written === undefined) return cached;
    if (versionOf(cached) < versionOf(written) && written.metadata.uid === cached.metadata.uid) return written;
    this.written.delete(keyOf(cached));
    return cached;
  }

  /** Answers the changes that are refused or use nothing. Returns the others, which wait until the quotas are written. */
  private chargeAll(
    before: readonly Quota[],
    batch: readonly AdmissionWaiter[],
  ): { readonly quotas: readonly Quota[]; readonly waiting: AdmissionWaiter[] } {
    const now = this.clock.now();
    const waiting: AdmissionWaiter[] = [];
    let quotas = before;
    for (const one of batch) {
      const result = charge(quotas, one.change, one.evaluator, now);
      if ('refused' in result) one.deny(refusal(one.attributes, result.refused));
      else if (one.attributes.dryRun || result.quotas.every((quota, i) => quota === quotas[i])) one.allow();
      else {
        quotas = result.quotas;
        waiting.push(one);
      }
    }
    return { quotas, waiting };
  }

  private async write(
    before: readonly Quota[],
    after: readonly Quota[],
  ): Promise<{ readonly names: readonly string[]; readonly error: unknown }> {
    const names: string[] = [];
    let failure: unknown;
    for (const [i, quota] of after.entries()) {
      const was = before[i];
      if (was === undefined || isEqual(was.used, quota.used)) continue;
      const { object, used } = quota;
      try {
        const status = { ...(object['status'] as object), used: toJson(used) };
        const written = await this.quotas.updateStatus({ ...object, status });
        this.written.set(keyOf(written), written);
      } catch (error) {
        names.push(quota.name);
        failure = error;
      }
    }
    return { names, error: failure };
  }
}

const keyOf = ({ metadata: { namespace = '', name = '' } }: KubeObject): string => `${namespace}/${name}`;
const versionOf = (object: KubeObject): bigint => BigInt(object.metadata.resourceVersion ?? '0');
