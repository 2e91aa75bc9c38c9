import { compareUtf8 } from '../apimachinery/meta/meta.js';
import { FieldSet } from '../structured-merge-diff/fieldpath/field-set.js';
import type { Managed } from './managed.js';

/** The maximum number of update entries of an object. */
const MAX_UPDATE_MANAGERS = 10;

/** Merges the oldest update entries of each version into `ancient-changes` until the maximum number is left. */
export function capUpdateManagers(managed: Managed): void {
  const updaters: string[] = [];
  for (const [manager, owned] of managed.fields) if (!owned.applied) updaters.push(manager);
  if (updaters.length <= MAX_UPDATE_MANAGERS) return;
  updaters.sort((a, b) => compareUtf8(managed.times.get(a) ?? '', managed.times.get(b) ?? '') || compareUtf8(a, b));
  const firstOf = new Map<string, string>();
  const buckets = new Map<string, FieldSet[]>();
  let count = updaters.length;
  for (const manager of updaters) {
    if (count <= MAX_UPDATE_MANAGERS) break;
    const owned = managed.fields.get(manager);
    if (owned === undefined) continue;
    const first = firstOf.get(owned.apiVersion);
    if (first === undefined) {
      firstOf.set(owned.apiVersion, manager);
      continue;
    }
    const bucket = bucketOf(managed, owned.apiVersion);
    if (manager === bucket) continue;
    let sets = buckets.get(bucket);
    if (sets === undefined) {
      // An existing bucket is kept; otherwise the oldest manager becomes the bucket.
      const old = managed.fields.get(bucket) ?? managed.fields.get(first) ?? owned;
      if (!managed.fields.has(bucket)) managed.fields.delete(first);
      buckets.set(bucket, (sets = [old.set]));
    }
    sets.push(owned.set);
    managed.fields.set(bucket, owned);
    managed.fields.delete(manager);
    count--;
    // Use the later of the two times.
    const time = managed.times.get(manager);
    if (time === undefined) managed.times.delete(bucket);
    else managed.times.set(bucket, time);
  }
  for (const [bucket, sets] of buckets) {
    const owned = managed.fields.get(bucket);
    if (owned !== undefined) managed.fields.set(bucket, { ...owned, set: FieldSet.unionOf(sets) });
  }
}

function bucketOf(managed: Managed, apiVersion: string): string {
  return managed.identify({ manager: 'ancient-changes', operation: 'Update', apiVersion, subresource: '' });
}
