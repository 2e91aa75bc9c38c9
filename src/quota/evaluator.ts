import type { GroupResource, KubeObject } from '../apimachinery/meta/meta.js';
import type { ResourceList } from './resource-list.js';

/** One requirement of a quota's scopes and scope selector. */
export interface ScopeRequirement {
  readonly scopeName: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** A request that may use more of what a quota limits. */
export interface QuotaChange {
  readonly operation: 'CREATE' | 'UPDATE';
  readonly subresource: string;
  readonly object: KubeObject | undefined;
  /** Undefined for a create. */
  readonly oldObject: KubeObject | undefined;
}

/** Measures what the objects of one type use (apiserver, quota.Evaluator). */
export interface Evaluator {
  readonly groupResource: GroupResource;
  /** Whether it looks at the objects; otherwise it counts them. */
  readonly readsObjects: boolean;
  /** Whether the change can use more of anything. */
  handles(change: QuotaChange): boolean;
  /** Whether the quota's resource is one that objects of the type use. */
  matchesResource(name: string): boolean;
  matchesScope(requirement: ScopeRequirement, object: KubeObject): boolean;
  /** Why the object cannot be measured by these resources; undefined: it can. */
  unmeasurable?(resources: readonly string[], object: KubeObject): string | undefined;
  /** `now` in milliseconds. */
  usage(object: KubeObject, now: number): ResourceList;
}

/** Whether a requirement holds of an object with these values of the scope. */
export function matchesValues({ operator, values }: ScopeRequirement, actual: ReadonlySet<string>): boolean {
  // As with labels: the object has one value at a time, and one that fits is enough.
  const each = actual.size === 0 ? [undefined] : [...actual];
  return each.some((value) => {
    switch (operator) {
      case 'In':
        return value !== undefined && values.includes(value);
      case 'NotIn':
        return value === undefined || !values.includes(value);
      case 'Exists':
        return value !== undefined;
      case 'DoesNotExist':
        return value === undefined;
      default:
        return false;
    }
  });
}
