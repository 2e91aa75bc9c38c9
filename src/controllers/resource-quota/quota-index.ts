import { objectAt, stringifyJson } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { addTo, removeFrom } from '../../util/append.js';
import { keyOf, splitKey } from '../object-cache.js';

interface Known {
  readonly uid: string;
  /** The limits as a string, to detect changes. */
  readonly limits: string;
  readonly names: readonly string[];
}

/** An index of the quotas: which resources they limit, by namespace and overall. */
export class QuotaIndex {
  private readonly quotas = new Map<string, Known>();
  private readonly byNamespace = new Map<string, Set<string>>();
  /** The number of quotas that limit each resource. */
  private readonly limited = new Map<string, number>();

  /** Names of all resources that any quota limits. */
  names(): Iterable<string> {
    return this.limited.keys();
  }

  keys(): Iterable<string> {
    return this.quotas.keys();
  }

  /** Returns the keys of the namespace's quotas that limit a resource for which `wanted` is true. */
  *concerned(namespace: string, wanted: (name: string) => boolean): Iterable<string> {
    for (const key of this.byNamespace.get(namespace) ?? []) {
      if (this.quotas.get(key)?.names.some(wanted) === true) yield key;
    }
  }

  /** Does the same for all namespaces. */
  *allConcerned(wanted: (name: string) => boolean): Iterable<string> {
    for (const [key, { names }] of this.quotas) if (names.some(wanted)) yield key;
  }

  /** Adds or replaces a quota. Returns true if it is new or its limits changed. */
  set(quota: KubeObject): boolean {
    const key = keyOf(quota);
    const hard = objectAt(objectAt(quota, 'spec'), 'hard') ?? {};
    const uid = quota.metadata.uid ?? '';
    const limits = stringifyJson(hard);
    const before = this.quotas.get(key);
    if (before?.uid === uid && before.limits === limits) return false;
    this.delete(key);
    const names = Object.keys(hard);
    this.quotas.set(key, { uid, limits, names });
    for (const name of names) this.limited.set(name, (this.limited.get(name) ?? 0) + 1);
    addTo(this.byNamespace, splitKey(key)[0], key);
    return true;
  }

  delete(key: string): void {
    const known = this.quotas.get(key);
    if (known === undefined) return;
    this.quotas.delete(key);
    for (const name of known.names) {
      const left = (this.limited.get(name) ?? 0) - 1;
      if (left > 0) this.limited.set(name, left);
      else this.limited.delete(name);
    }
    removeFrom(this.byNamespace, splitKey(key)[0], key);
  }
}
