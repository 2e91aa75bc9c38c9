import { objectAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { add, excess, type ResourceList, resourceList } from '../../quota/resource-list.js';
import type { Clock } from '../../util/clock.js';
import { keyOf } from '../object-cache.js';

interface Known {
  readonly version: bigint;
  readonly used: ResourceList;
  /** In the order in which they were seen. */
  readonly charges: readonly Charge[];
}

interface Charge {
  readonly atMillis: number;
  readonly amounts: ResourceList;
}

const NONE: ResourceList = new Map();

/** Amounts that admission has recently charged to quotas: the objects may not be stored yet, so a count of stored objects may lack all of them. */
export class RecentCharges {
  private readonly quotas = new Map<string, Known>();

  /** `storedAfterMillis`: a charged object is stored by then. */
  constructor(
    private readonly clock: Clock,
    private readonly storedAfterMillis: number,
  ) {}

  /** Records the state of a quota. If the quota was not known, all its usage counts as charged just now. */
  see(quota: KubeObject): void {
    const key = keyOf(quota);
    const version = BigInt(quota.metadata.resourceVersion ?? '0');
    const known = this.quotas.get(key);
    if (known !== undefined && known.version >= version) return;
    const used = resourceList(objectAt(quota, 'status')?.['used']);
    const amounts = excess(used, known?.used ?? NONE);
    const charge = { atMillis: this.clock.monotonic(), amounts };
    const isCharge = [...amounts.values()].some(({ sign }) => sign > 0);
    this.quotas.set(key, { version, used, charges: isCharge ? [...this.fresh(known), charge] : this.fresh(known) });
  }

  /** Returns the amounts charged recently. */
  of(key: string): ResourceList {
    return this.fresh(this.quotas.get(key)).reduce((sum, { amounts }) => add(sum, amounts), NONE);
  }

  delete(key: string): void {
    this.quotas.delete(key);
  }

  private fresh(known: Known | undefined): readonly Charge[] {
    const since = this.clock.monotonic() - this.storedAfterMillis;
    return known?.charges.filter(({ atMillis }) => atMillis > since) ?? [];
  }
}

/**
 * Returns the upper bound of the usage: `counted` is stored, and objects that `recent` was charged for may not be. The bound is what was
 * charged `before`, unless more is stored.
 */
export function usageUpperBound(before: ResourceList, counted: ResourceList, recent: ResourceList): ResourceList {
  const most = add(counted, recent);
  return new Map(
    Array.from(counted, ([name, amount]) => {
      const charged = before.get(name) ?? amount;
      const bound = most.get(name) ?? amount;
      if (charged.compare(amount) <= 0) return [name, amount];
      return [name, charged.compare(bound) < 0 ? charged : bound];
    }),
  );
}
