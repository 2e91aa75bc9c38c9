import type { ClusterRole } from '../../../apimachinery/generated/rbac.js';
import { ApiError, newForbidden, newNotFound } from '../../../apimachinery/meta/errors.js';
import { deepEqual } from '../../../apimachinery/json/json.js';
import { compareUtf8, quote, type KubeObject, quoteList } from '../../../apimachinery/meta/meta.js';
import { isPrivileged, type UserInfo } from '../../../authentication/user/user.js';
import type { Authorizer, AuthorizerAttributes } from '../../../authorization/authorizer/interfaces.js';
import { aggregateTexts } from '../../../authorization/authorizer/results.js';
import {
  RBAC_GROUP,
  readRoleRef,
  readRules,
  type ResolvedRules,
  type PolicyRule,
  type RoleRef,
} from '../../../authorization/rbac/types.js';
import type { RequestContext } from '../../../request/context.js';
import { compact, compactString, uncovered } from './covers.js';
import type { MaybePromise } from '../../../util/maybe-promise.js';

/** An RbacRuleSource, or one in a worker thread that asks the main thread. */
interface RuleSource {
  policyRulesFor(user: UserInfo, namespace: string): MaybePromise<ResolvedRules>;
  roleRules(ref: RoleRef, namespace: string): MaybePromise<readonly PolicyRule[] | undefined>;
}

export interface EscalationDependencies {
  /** The server's whole authorizer, for the verbs `escalate` and `bind`. */
  readonly authorizer: Authorizer;
  readonly rules: RuleSource;
}

/** All permissions, which are needed to set an aggregation rule. */
const FULL_AUTHORITY: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [], nonResourceURLs: [] },
  { verbs: ['*'], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ['*'] },
];

/**
 * The escalation check of roles and cluster roles, called before a create (`old` is undefined) or an update is stored. The user must hold
 * every permission of the role, or have `escalate` on it. Throws the ApiError for the client.
 */
export async function checkRoleEscalation(
  context: RequestContext,
  object: KubeObject,
  old: KubeObject | undefined,
  dependencies: EscalationDependencies,
): Promise<void> {
  const { user, info } = context;
  if (isPrivileged(user) || (await mayEscalate(context, dependencies.authorizer))) return;
  if (old !== undefined && isOnlyMutatingGCFields(object, old)) return;
  const resource = { group: RBAC_GROUP, resource: info.resource };
  const name = object.metadata.name ?? '';
  const problem = await escalation(context, readRules(object), dependencies.rules);
  if (problem !== undefined) throw newForbidden(resource, name, problem);
  if (!hasAggregationRule(object) && !hasAggregationRule(old)) return;
  if ((await escalation(context, FULL_AUTHORITY, dependencies.rules)) !== undefined) {
    throw newForbidden(resource, name, 'must have cluster-admin privileges to use the aggregationRule');
  }
}

/** The escalation check of bindings. The user must hold every permission of the role, or have `bind` on it. */
export async function checkBindingEscalation(
  context: RequestContext,
  object: KubeObject,
  old: KubeObject | undefined,
  dependencies: EscalationDependencies,
): Promise<void> {
  const { user, info } = context;
  if (isPrivileged(user)) return;
  if (old !== undefined && isOnlyMutatingGCFields(object, old)) return;
  const given = readRoleRef(object);
  const ref = given.apiGroup === '' ? { ...given, apiGroup: RBAC_GROUP } : given;
  if (await mayBind(context, ref, dependencies.authorizer)) return;
  const resource = { group: RBAC_GROUP, resource: info.resource };
  if (ref.kind !== 'Role' && ref.kind !== 'ClusterRole') {
    throw new ApiError(500, '', `unsupported role reference kind: ${quote(ref.kind)}`);
  }
  const rules = await dependencies.rules.roleRules(ref, info.namespace);
  if (rules === undefined) throw newNotFound(resource, ref.name);
  const problem = await escalation(context, rules, dependencies.rules);
  if (problem !== undefined) throw newForbidden(resource, object.metadata.name ?? '', problem);
}

/** Returns why the user may not grant the rules, or undefined if the user holds all of them. */
async function escalation(
  { user, info }: RequestContext,
  rules: readonly PolicyRule[],
  source: RuleSource,
): Promise<string | undefined> {
  const held = await source.policyRulesFor(user, info.namespace);
  const missing = uncovered(held.rules, rules);
  if (missing.length === 0) return undefined;
  const lines = [...new Set(compact(missing).map(compactString))].sort(compareUtf8);
  const text = `user ${quote(user.name)} (groups=${quoteList(user.groups)}) is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}`;
  if (held.unresolved.length === 0) return text;
  // kube-apiserver names the resource of the request here, not that of the missing role.
  const errors = held.unresolved.map((ref) => `${info.resource}.${RBAC_GROUP} ${quote(ref.name)} not found`);
  return `${text}; resolution errors: [${aggregateTexts(errors)}]`;
}

async function mayEscalate(context: RequestContext, authorizer: Authorizer): Promise<boolean> {
  const { isResourceRequest, apiGroup, resource, name } = context.info;
  const isRole = resource === 'roles' || resource === 'clusterroles';
  if (!isResourceRequest || apiGroup !== RBAC_GROUP || !isRole) return false;
  return allowed(context, authorizer, { verb: 'escalate', apiGroup, resource, name });
}

async function mayBind(context: RequestContext, ref: RoleRef, authorizer: Authorizer): Promise<boolean> {
  const resource = ref.kind === 'ClusterRole' ? 'clusterroles' : ref.kind === 'Role' ? 'roles' : undefined;
  if (resource === undefined) return false;
  return allowed(context, authorizer, { verb: 'bind', apiGroup: ref.apiGroup, resource, name: ref.name });
}

async function allowed(
  { user, info, signal }: RequestContext,
  authorizer: Authorizer,
  asked: Pick<AuthorizerAttributes, 'verb' | 'apiGroup' | 'resource' | 'name'>,
): Promise<boolean> {
  const { namespace } = info;
  const attributes = { user, ...asked, namespace, apiVersion: '*', subresource: '', path: '', resourceRequest: true };
  return (await authorizer.authorize(attributes, signal)).decision === 'allow';
}

function hasAggregationRule(object: ClusterRole | undefined): boolean {
  const selectors = object?.aggregationRule?.clusterRoleSelectors;
  return Array.isArray(selectors) && selectors.length > 0;
}

/**
 * Reports whether only fields changed that the garbage collector may change without the role's permissions, such as owner
 * references and finalizers.
 */
function isOnlyMutatingGCFields(object: KubeObject, old: KubeObject): boolean {
  const bare = (from: KubeObject): KubeObject => {
    const { ownerReferences: _o, finalizers: _f, selfLink: _s, managedFields: _m, ...metadata } = from.metadata;
    return { ...from, metadata };
  };
  return deepEqual(bare(object), bare(old));
}
