import type { Registry } from 'prom-client';
import { formatGroupResource, type GroupResource } from '../../apimachinery/meta/meta.js';
import { forgetEvaluator } from '../../quota/evaluators.js';
import type { ApiRegistry } from '../../registry/generic/store/api-registry.js';
import type { Clock } from '../../util/clock.js';
import { dropSeries } from '../../util/metrics/metrics.js';

/** The time, in milliseconds, for which removed types are collected before a sweep: many are removed at once, and each sweep visits every series. */
const SWEEP_MILLIS = 5_000;

/** Drops the series of removed types, and other data that is kept by type. */
export function dropRemovedTypes(registry: ApiRegistry, metrics: readonly Registry[], clock: Clock): void {
  const removed = new Map<string, GroupResource>();
  const sweep = (): void => {
    for (const [name, type] of removed) {
      // The type is served again.
      if (registry.has(type)) removed.delete(name);
      else forgetEvaluator(type);
    }
    if (removed.size > 0) dropSeries(metrics, (labels) => isAbout(labels, removed));
    removed.clear();
  };
  registry.onRemove((type) => {
    if (removed.size === 0) clock.setTimer(SWEEP_MILLIS, sweep);
    removed.set(formatGroupResource(type), type);
  });
}

/** Reports whether the labels are about one of the types. Types are named by two labels or by one. */
function isAbout(labels: Readonly<Record<string, string>>, types: ReadonlyMap<string, unknown>): boolean {
  const { group, resource, crd_name: definition } = labels;
  if (resource === undefined) return definition !== undefined && types.has(definition);
  return types.has(group === undefined ? resource : formatGroupResource({ group, resource }));
}
