import { type JsonObject, objectAt, objectsOf, stringAt, stringsOf } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { UserInfo } from '../../authentication/user/user.js';

export const RBAC_GROUP = 'rbac.authorization.k8s.io';

/** A rule of a role, with every list set. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface RoleRef {
  readonly apiGroup: string;
  readonly kind: string;
  readonly name: string;
}

export interface Subject {
  readonly kind: string;
  readonly apiGroup: string;
  readonly name: string;
  readonly namespace: string;
}

export type RbacKind = 'Role' | 'ClusterRole' | 'RoleBinding' | 'ClusterRoleBinding';

/** The rules of a user, and the references of its bindings to roles that do not exist. */
export interface ResolvedRules {
  readonly rules: readonly PolicyRule[];
  readonly unresolved: readonly RoleRef[];
}

/** The rules that privilege escalation checks need (DESIGN: RBAC); implemented by RbacIndex. */
export interface RbacRuleSource {
  policyRulesFor(user: UserInfo, namespace: string): ResolvedRules;
  /**
   * Returns the rules of the role that a binding in `namespace` ('' for a cluster role binding) refers to; undefined if
   * it does not exist.
   */
  roleRules(ref: RoleRef, namespace: string): readonly PolicyRule[] | undefined;
}

export function readRule(rule: JsonObject): PolicyRule {
  return {
    verbs: stringsOf(rule['verbs']),
    apiGroups: stringsOf(rule['apiGroups']),
    resources: stringsOf(rule['resources']),
    resourceNames: stringsOf(rule['resourceNames']),
    nonResourceURLs: stringsOf(rule['nonResourceURLs']),
  };
}

export function readRules(role: KubeObject): readonly PolicyRule[] {
  return objectsOf(role['rules']).map(readRule);
}

export function readRoleRef(binding: KubeObject): RoleRef {
  const ref = objectAt(binding, 'roleRef');
  return {
    apiGroup: stringAt(ref, 'apiGroup') ?? '',
    kind: stringAt(ref, 'kind') ?? '',
    name: stringAt(ref, 'name') ?? '',
  };
}

export function readSubjects(binding: KubeObject): readonly Subject[] {
  return objectsOf(binding['subjects']).map((subject) => ({
    kind: stringAt(subject, 'kind') ?? '',
    apiGroup: stringAt(subject, 'apiGroup') ?? '',
    name: stringAt(subject, 'name') ?? '',
    namespace: stringAt(subject, 'namespace') ?? '',
  }));
}

/** Omits empty lists, as in the JSON of the object. */
export function writeRule(rule: PolicyRule): JsonObject {
  const out: JsonObject = { verbs: [...rule.verbs] };
  if (rule.apiGroups.length > 0) out['apiGroups'] = [...rule.apiGroups];
  if (rule.resources.length > 0) out['resources'] = [...rule.resources];
  if (rule.resourceNames.length > 0) out['resourceNames'] = [...rule.resourceNames];
  if (rule.nonResourceURLs.length > 0) out['nonResourceURLs'] = [...rule.nonResourceURLs];
  return out;
}
