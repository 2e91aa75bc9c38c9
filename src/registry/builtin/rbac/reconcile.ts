import type { ClusterRole, RoleBinding } from '../../../apimachinery/generated/rbac.js';
import { deepCopy, deepEqual, type JsonObject } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { readRoleRef, readRules, readSubjects, writeRule, type Subject } from '../../../authorization/rbac/types.js';
import { uncovered } from './covers.js';

const AUTO_UPDATE_ANNOTATION = 'rbac.authorization.kubernetes.io/autoupdate';

/** The operation after which an existing object grants at least what is expected. */
export type Reconciliation =
  | { readonly operation: 'none' }
  | { readonly operation: 'update'; readonly object: KubeObject }
  /** A role reference is immutable: the binding is deleted and created again. */
  | { readonly operation: 'recreate'; readonly object: KubeObject };

const NONE: Reconciliation = { operation: 'none' };

/** Adds missing rules, aggregation selectors, labels and annotations. Of a user's additions, only an unexpected aggregation rule is removed. */
export function reconcileRole(existing: KubeObject, expected: KubeObject): Reconciliation {
  if (isProtected(existing)) return NONE;
  const object = deepCopy(existing);
  const changes = [
    mergeMetadata(object, expected),
    addRules(object, existing, expected),
    reconcileAggregation(object, expected),
  ];
  return changes.includes(true) ? { operation: 'update', object } : NONE;
}

export function reconcileBinding(existing: KubeObject, expected: KubeObject): Reconciliation {
  if (isProtected(existing)) return NONE;
  if (!deepEqual({ ...readRoleRef(existing) }, { ...readRoleRef(expected) })) {
    return { operation: 'recreate', object: deepCopy(expected) };
  }
  const object = deepCopy(existing);
  const changes = [mergeMetadata(object, expected), addSubjects(object, expected)];
  return changes.includes(true) ? { operation: 'update', object } : NONE;
}

/** Reports whether the object is opted out of reconciliation. */
function isProtected(object: KubeObject): boolean {
  return object.metadata.annotations?.[AUTO_UPDATE_ANNOTATION] === 'false';
}

/** Merges labels and annotations. Existing values take precedence over expected ones. */
function mergeMetadata(object: KubeObject, expected: KubeObject): boolean {
  let changed = false;
  for (const field of ['annotations', 'labels'] as const) {
    const wanted = expected.metadata[field];
    if (wanted === undefined) continue;
    const merged = { ...wanted, ...object.metadata[field] };
    if (deepEqual(merged, object.metadata[field])) continue;
    object.metadata[field] = merged;
    changed = true;
  }
  return changed;
}

function addRules(object: ClusterRole, existing: ClusterRole, expected: ClusterRole): boolean {
  const missing = uncovered(readRules(existing), readRules(expected));
  if (missing.length === 0) return false;
  object.rules = [...(object.rules ?? []), ...missing.map(writeRule)];
  return true;
}

function reconcileAggregation(object: ClusterRole, expected: ClusterRole): boolean {
  const wanted = expected.aggregationRule;
  const current = object.aggregationRule;
  if (wanted === undefined) {
    delete object.aggregationRule;
    return current !== undefined;
  }
  const selectors = current?.clusterRoleSelectors ?? [];
  const missing = (wanted.clusterRoleSelectors ?? []).filter(
    (selector) => !selectors.some((known) => deepEqual(known, selector)),
  );
  if (missing.length === 0) return false;
  object.aggregationRule = { ...current, clusterRoleSelectors: [...selectors, ...deepCopy(missing)] };
  return true;
}

function addSubjects(object: RoleBinding, expected: RoleBinding): boolean {
  const key = ({ kind, apiGroup, namespace, name }: Subject): string =>
    JSON.stringify([kind, apiGroup, namespace, name]);
  const known = new Set(readSubjects(object).map(key));
  const wanted = expected.subjects ?? [];
  const missing: JsonObject[] = [];
  readSubjects(expected).forEach((subject, index) => {
    if (known.has(key(subject))) return;
    known.add(key(subject));
    missing.push(deepCopy(wanted[index] ?? {}));
  });
  if (missing.length === 0) return false;
  object.subjects = [...(object.subjects ?? []), ...missing];
  return true;
}
