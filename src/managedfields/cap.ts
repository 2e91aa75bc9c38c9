import { compareUtf8 } from '../apimachinery/meta.js';
import type { Managed } from './managed.js';

/** The most entries of updates that an object keeps. */
export const MAX_UPDATE_MANAGERS = 10;

/** Merges the oldest entries of updates, by version, into one of `ancient-changes` until there are no more than the most. */
export function capUpdateManagers(managed: Managed): void {
  const updaters: string[] = [];
  for (const [manager, owned] of managed.fields) if (!owned.applied) updaters.push(manager);
  if (updaters.length <= MAX_UPDATE_MANAGERS) return;
  updaters.sort((a, b) => compareUtf8(managed.times.get(a) ?? '', managed.times.get(b) ?? '') || compareUtf8(a, b));
  const firstOf = new Map<string, string>();
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
    const bucket = managed.identify({
      manager: 'ancient-changes',
      operation: 'Update',
      apiVersion: owned.apiVersion,
      subresource: '',
    });
    let merged = managed.fields.get(bucket);
    if (merged === undefined) {
      merged = managed.fields.get(first) ?? owned;
      managed.fields.delete(first);
    }
    managed.fields.set(bucket, { ...owned, set: owned.set.union(merged.set) });
    managed.fields.delete(manager);
    count--;
    // The time of the younger of both.
    const time = managed.times.get(manager);
    if (time === undefined) managed.times.delete(bucket);
    else managed.times.set(bucket, time);
  }
}
