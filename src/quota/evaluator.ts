import type { GroupResource, KubeObject } from '../apimachinery/meta/meta.js';
import type { ResourceList } from './resource-list.js';

/** One requirement of a quota's scopes or scope selector. */
export interface ScopeRequirement {
  readonly scopeName: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** A request that may increase the usage of a quota. */
export interface QuotaChange {
  readonly operation: 'CREATE' | 'UPDATE';
  readonly subresource: string;
  readonly object: KubeObject | undefined;
  /** Undefined for a create. */
  readonly oldObject: KubeObject | undefined;
}

/** Measures the usage of the objects of one type (apiserver, quota.Evaluator). */
export interface Evaluator {
  readonly groupResource: GroupResource;
  /** True if the evaluator reads the objects; false if it only counts them. */
  readonly readsObjects: boolean;
  /** Reports whether the change can increase any usage. */
  handles(change: QuotaChange): boolean;
  /** Reports whether objects of the type use the quota's resource. */
  matchesResource(name: string): boolean;
  matchesScope(requirement: ScopeRequirement, object: KubeObject): boolean;
  /** Returns the reason why the usage of these resources cannot be determined for the object, or undefined. */
  constraintViolation?(resources: readonly string[], object: KubeObject): string | undefined;
  /** `now` is in milliseconds since the epoch. */
  usage(object: KubeObject, now: number): ResourceList;
}

/** Reports whether a requirement holds for an object with these values of the scope. */
export function matchesValues({ operator, values }: ScopeRequirement, actual: ReadonlySet<string>): boolean {
  // As with labels, the object has one value at a time; one that matches is enough.
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
